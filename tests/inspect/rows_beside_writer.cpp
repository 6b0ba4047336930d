// Objects read while a process changes them, and after it was killed.
#include <chainbase/database.hpp>
#include <chainbase/rows/row_cursor.hpp>
#include <tools/inspect/rows/row_query.hpp>
#include <tools/inspect/rows/row_source.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <tests/inspect/unchanged.hpp>
#include <tests/support/child_process.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/scratch_state.hpp>

#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using inspect::row_query;
using inspect::row_source;

namespace {

constexpr std::uint32_t steady = 300;       ///< objects that are there all the time
constexpr std::uint32_t most_others = 2000; ///< those that come and go

void add_types(database& db) {
    db.add_type<account>("account");
    db.add_type<post>("post");
}

/// All fields of an account, and of the post of the same id, follow from one number.
void set(account& a, std::uint64_t number) {
    a.name = std::string_view("n" + std::to_string(number));
    a.number = number;
    a.balance = static_cast<std::int64_t>(number) * 3;
    a.visits = static_cast<std::uint32_t>(number % 1000);
}
void set(post& p, std::uint64_t number) {
    p.author = "n" + std::to_string(number);
    p.permlink = std::to_string(number);
    p.body = std::string(number % 300, 'b');
    p.likes = static_cast<std::uint32_t>(number % 300);
}

/// Changes accounts and posts together, in sessions that are pushed, undone or, in the end, cut off
/// by a kill.
class changing_node {
public:
    explicit changing_node(const std::filesystem::path& state) {
        process_ = fork_process([this, state] { run(state); });
        while (blocks() < 3) {
        }
    }
    ~changing_node() { kill(); }
    [[nodiscard]] std::uint64_t blocks() const { return *blocks_; }
    void kill() {
        if (process_ == 0) return;
        ::kill(process_, SIGKILL);
        (void)wait_for(process_);
        process_ = 0;
    }

private:
    void run(const std::filesystem::path& state) {
        database db(state, quick_options());
        add_types(db);
        std::uint64_t number = 0;
        random_source random(test_seed(71));
        db.with_write_lock([&] {
            for (std::uint32_t i = 0; i < steady; ++i)
                create(db, number++);
        });
        for (;;) {
            db.with_write_lock([&] { one_block(db, random, number); });
            ++*blocks_;
            std::this_thread::sleep_for(std::chrono::microseconds(100)); // the file never fills
        }
    }
    static void create(database& db, std::uint64_t number) {
        db.create<account>([&](account& a) {
            set(a, number);
            a.group = a.id.value < steady ? 1 : 2;
        });
        db.create<post>([&](post& p) { set(p, number); });
    }
    static void remove(database& db, std::uint32_t number) {
        const auto* found = db.find(id<account>(number));
        if (!found) return;
        db.remove(db.get(id<post>(number)));
        db.remove(*found);
    }
    static void one_block(database& db, random_source& random, std::uint64_t& number) {
        auto block = db.start_session();
        for (int i = 0; i < 20; ++i) {
            const std::uint32_t some = random.below(steady);
            ++number;
            db.modify(db.get(id<account>(some)), [&](account& a) { set(a, number); });
            db.modify(db.get(id<post>(some)), [&](post& p) { set(p, number); });
            const std::uint32_t end = db.next_id<account>().value;
            create(db, ++number);
            remove(db, steady + random.below(end - steady + 1));
            if (end > steady + most_others) remove(db, end - most_others);
        }
        if (random.chance(300)) return; // undone
        block.push();
        if (db.revision() > 5) db.commit(db.revision() - 5);
    }

    std::shared_ptr<std::atomic<std::uint64_t>> blocks_ =
        in_shared_memory<std::atomic<std::uint64_t>>();
    pid_t process_ = 0;
};

void require_whole(const nlohmann::json& row) {
    const auto number = row.at("number").get<std::uint64_t>();
    REQUIRE(row.at("name") == "n" + std::to_string(number));
    REQUIRE(row.at("balance") == number * 3);
    REQUIRE(row.at("visits") == number % 1000);
}

/// The account of an id, and its post, both as of one moment.
void require_both_whole(row_source& from, std::uint32_t id) {
    const std::vector<std::string> parts{std::to_string(id)};
    const auto accounts = inspect::find_rows(from, "account", "id", parts).json;
    REQUIRE(accounts.size() == 1);
    require_whole(nlohmann::json::parse(accounts.front()));
    const auto posts = inspect::find_rows(from, "post", "id", parts).json;
    REQUIRE(posts.size() == 1);
    const auto post = nlohmann::json::parse(posts.front());
    REQUIRE(post.at("author") == "n" + post.at("permlink").get<std::string>());
    REQUIRE(post.at("body").get<std::string>().size() == post.at("likes"));
}

/// Goes through accounts by name; those that do not change their place are all seen, once.
void require_all_steady(row_source& from, const std::string& key) {
    std::map<std::uint32_t, int> seen;
    const auto cursor = row_query{"account", key, {}, {}, {}, false}.cursor(from);
    inspect::scan(from, "account", *cursor, [&](const rows::type_rows& of, slot_number slot) {
        ++seen[of.slots().id(slot)];
        return true;
    });
    for (std::uint32_t id = 0; id < steady; ++id)
        REQUIRE(seen[id] == 1);
}

} // namespace

TEST_CASE("rows beside a writer are never torn, and those that stay are visited once") {
    scratch_folder folder;
    changing_node node(folder / "state");
    row_source from(folder / "state");
    random_source random(test_seed(72));
    const std::uint64_t wanted = node.blocks() + test_operations(2'000) / 10;
    for (int round = 0; round < 20 || node.blocks() < wanted; ++round) {
        require_both_whole(from, random.below(steady));
        require_all_steady(from, "id");
        require_all_steady(from, "by_group");
    }
    CHECK_FALSE(from.is_rolled_back());
}

TEST_CASE("rows after a kill are those of the last block that was completed") {
    scratch_folder folder;
    for (int kills = 0; kills < 6; ++kills) {
        std::filesystem::remove_all(folder / "state");
        changing_node(folder / "state").kill();
        const folder_image before = content_of(folder / "state");
        std::vector<std::string> found;
        std::int64_t revision = 0;
        {
            row_source from(folder / "state");
            REQUIRE(from.is_rolled_back());
            for (std::uint32_t id = 0; id < steady; ++id)
                require_both_whole(from, id);
            const auto all = inspect::find_rows(from, "account", "by_group", {"2"});
            found = all.json;
            revision = all.revision;
        }
        REQUIRE(content_of(folder / "state") == before);

        database db(folder / "state", quick_options());
        add_types(db);
        REQUIRE(db.revision() == revision);
        std::size_t at = 0;
        for (const account& a : db.view<account, by_group>()) {
            if (a.group != 2) continue;
            REQUIRE(at < found.size());
            REQUIRE(nlohmann::json::parse(found[at++]).at("number") == a.number);
        }
        REQUIRE(at == found.size());
    }
}
