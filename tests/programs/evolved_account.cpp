// The social chain's account as a later version may declare it: a field renamed, one new, one
// computed, one more key. Opens a state that the driver made, and prints what it finds.
//
//     evolved_account STATE NAME

#include <chainbase/database.hpp>
#include <chainbase/offline/migration.hpp>
#include <tools/chains/social/objects.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstdint>
#include <exception>

using namespace chainbase;

namespace {

struct by_name;
struct by_activity;

struct evolved_account_object {
    chainbase::id<evolved_account_object> id;
    social::account_name name;
    std::int64_t created = 0;
    std::int64_t liquid = 0; ///< was called balance
    std::int64_t unclaimed = 0;
    std::int64_t author_rewards = 0;
    std::int64_t curation_rewards = 0;
    std::uint64_t posts = 0; ///< had 32 bits
    std::uint32_t replies = 0;
    std::uint32_t votes = 0;
    std::uint32_t custom_operations = 0;
    std::uint32_t activity = 0; ///< new: the sum of what it did
    shared_string about;        ///< new

    using keys = chainbase::keys<
        hashed_unique<by_name, &evolved_account_object::name>,
        btree_unique<by_activity, &evolved_account_object::activity, &evolved_account_object::id>>;
};
BOOST_DESCRIBE_STRUCT(evolved_account_object, (),
                      (id, name, created, liquid, unclaimed, author_rewards, curation_rewards,
                       posts, replies, votes, custom_operations, activity, about))

void show(const std::string& state, const std::string& name) {
    migration to_now;
    to_now.type<evolved_account_object>("account")
        .renamed<&evolved_account_object::liquid>("balance")
        .computed([](const old_object& was, evolved_account_object& now) {
            now.activity = was.get<std::uint32_t>("posts") + now.replies + now.votes;
        });
    open_options how;
    how.migrate = &to_now;
    database of(state, how);
    of.add_type<evolved_account_object>("account");
    const auto& one = of.get<evolved_account_object, by_name>(social::account_name(name));
    const auto& busiest = *std::prev(of.view<evolved_account_object, by_activity>().end());
    std::int64_t liquid = 0;
    for (const evolved_account_object& each : of.objects<evolved_account_object>())
        liquid += each.liquid;
    fmt::print("{{\"accounts\":{},\"liquid\":{},\"id\":{},\"activity\":{},\"busiest\":{}}}\n",
               of.count<evolved_account_object>(), liquid, one.id.value, one.activity,
               busiest.activity);
    of.close();
}

} // namespace

int main(int argc, char** argv) {
    try {
        spdlog::set_level(spdlog::level::err); // stdout has the answer only
        if (argc != 3) throw std::invalid_argument("evolved_account STATE NAME");
        show(argv[1], argv[2]);
        return 0;
    } catch (const std::exception& problem) {
        fmt::print(stderr, "{}\n", problem.what());
        return 1;
    }
}
