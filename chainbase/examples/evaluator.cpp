// The worked example of chainbase/migrating.md: an account with authorities, an evaluator that
// changes it, and its test.
//
//     example_evaluator FOLDER      makes FOLDER/state anew

#include <chainbase/database.hpp>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

/// Prints a claim; throws when it is not true.
void require(bool is_true, const char* claim) {
    if (!is_true) throw std::logic_error(std::string("not true: ") + claim);
    std::cout << claim << '\n';
}

// ANCHOR: after
struct key_weight {
    chainbase::fixed_bytes<33> key;
    std::uint16_t weight = 1;
};
BOOST_DESCRIBE_STRUCT(key_weight, (), (key, weight))

struct authority {
    std::uint32_t threshold = 1;
    chainbase::shared_vector<key_weight> keys;
};
BOOST_DESCRIBE_STRUCT(authority, (), (threshold, keys))

struct by_name;
struct by_balance;

struct account_object {
    chainbase::id<account_object> id;
    chainbase::fixed_string<16> name;
    std::int64_t balance = 0;
    authority active;
    chainbase::shared_string memo;

    using keys = chainbase::keys<
        chainbase::btree_unique<by_name, &account_object::name>,
        chainbase::btree_unique<by_balance, chainbase::descending<&account_object::balance>,
                                &account_object::id>>;
};
BOOST_DESCRIBE_STRUCT(account_object, (), (id, name, balance, active, memo))

struct account_update_operation {
    std::string account;
    std::uint32_t threshold = 1;
    std::vector<key_weight> keys;
    std::optional<std::string> memo;
};

void apply(chainbase::database& db, const account_update_operation& op) {
    db.modify<account_object, by_name>(op.account, [&](account_object& a) {
        a.active.threshold = op.threshold;
        a.active.keys = op.keys;
        if (op.memo) a.memo = *op.memo;
        std::uint32_t sum = 0;
        for (const key_weight& each : a.active.keys)
            sum += each.weight;
        if (sum < op.threshold) throw std::invalid_argument("impossible authority");
    }); // when it throws, the account is what it was
}

void test(chainbase::database& db) {
    db.add_type<account_object>("account");
    const auto& alice = db.create<account_object>([](account_object& a) { a.name = "alice"; });
    const auto key = chainbase::fixed_bytes<33>::parse("02" + std::string(64, 'a'));
    {
        auto pending = db.start_session();
        apply(db, {"alice", 2, {{key, 2}}, "hello"});
        require(alice.active.keys.front().key == key && alice.memo == "hello", "applied");
    } // undone
    require(alice.active.keys.empty() && alice.memo.empty(), "undone");
    try {
        apply(db, {"alice", 2, {{key, 1}}, "lost"});
        require(false, "accepted what nobody can reach");
    } catch (const std::invalid_argument&) {
        require(alice.active.threshold == 1 && alice.memo.empty(), "refused, and as it was");
    }
}
// ANCHOR_END: after

} // namespace

int main(int argc, char** argv) try {
    const auto state = std::filesystem::path(argc > 1 ? argv[1] : ".") / "state";
    std::filesystem::remove_all(state);
    chainbase::database db(state.string());
    test(db);
} catch (const std::exception& problem) {
    std::cerr << problem.what() << '\n';
    return 1;
}
