// A state whose types are declared otherwise now, opened by the new program.

#include <chainbase/checkpoint/disk.hpp>
#include <chainbase/checkpoint/publication.hpp>
#include <chainbase/database.hpp>
#include <chainbase/offline/check/state_check.hpp>
#include <chainbase/offline/migration.hpp>
#include <chainbase/offline/past_migration.hpp>
#include <chainbase/offline/snapshot_file/folder.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <tests/support/child_process.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/scratch_state.hpp>

#include <chrono>
#include <filesystem>
#include <string>

using namespace chainbase;
using Catch::Matchers::Contains;
using test::quick_options;
using test::scratch_folder;
using test::with_checkpoints;

namespace fs = std::filesystem;

namespace {

struct by_name;
struct by_total;
struct by_owner;

} // namespace

namespace before {

struct account {
    chainbase::id<account> id;
    fixed_string<16> name;
    std::uint32_t amount = 0;
    std::uint64_t legacy = 0;
    shared_string memo;

    using keys = chainbase::keys<hashed_unique<by_name, &account::name>>;
};
BOOST_DESCRIBE_STRUCT(account, (), (id, name, amount, legacy, memo))

struct vote {
    chainbase::id<vote> id;
    std::uint32_t owner = 0;

    using keys = chainbase::keys<ordered_non_unique<by_owner, &vote::owner>>;
};
BOOST_DESCRIBE_STRUCT(vote, (), (id, owner))

} // namespace before

namespace now {

struct account {
    chainbase::id<account> id;
    std::uint64_t balance = 0; ///< was called amount
    fixed_string<32> name;
    std::uint64_t total = 0; ///< computed
    shared_string memo;
    shared_string about; ///< new

    using keys = chainbase::keys<btree_unique<by_name, &account::name>,
                                 ordered_non_unique<by_total, descending<&account::total>>>;
};
BOOST_DESCRIBE_STRUCT(account, (), (id, balance, name, total, memo, about))

/// Of which two may have one owner: cannot be taken over.
struct single_vote {
    chainbase::id<single_vote> id;
    std::uint32_t owner = 0;

    using keys = chainbase::keys<ordered_unique<by_owner, &single_vote::owner>>;
};
BOOST_DESCRIBE_STRUCT(single_vote, (), (id, owner))

/// With less room.
struct short_account {
    chainbase::id<short_account> id;
    fixed_string<16> name;
    std::uint8_t amount = 0;
    std::uint64_t legacy = 0;
    shared_string memo;

    using keys = chainbase::keys<hashed_unique<by_name, &short_account::name>>;
};
BOOST_DESCRIBE_STRUCT(short_account, (), (id, name, amount, legacy, memo))

} // namespace now

namespace later {

/// What became of now::account, or of before::account at once.
struct member {
    chainbase::id<member> id;
    std::uint64_t balance = 0;
    fixed_string<32> name;
    std::uint64_t total = 0;
    std::uint32_t karma = 0; ///< new
    shared_string memo;
    shared_string about;

    using keys = chainbase::keys<hashed_unique<by_name, &member::name>>;
};
BOOST_DESCRIBE_STRUCT(member, (), (id, balance, name, total, karma, memo, about))

} // namespace later

namespace {

constexpr std::uint32_t accounts = 5'000;

std::string memo_of(std::uint32_t number) {
    return std::string(number % 40, static_cast<char>('a' + number % 26));
}

bool is_removed(std::uint32_t number) {
    return number % 7 == 3;
}

/// A state as the former program left it.
void make_former(const std::string& state, const open_options& how, bool can_undo = false) {
    database of(state, how);
    of.add_type<before::account>("account");
    of.add_type<before::vote>("vote");
    session block = of.start_session();
    for (std::uint32_t number = 0; number < accounts; ++number) {
        of.create<before::account>([&](before::account& one) {
            one.name = "account-" + std::to_string(number);
            one.amount = 3 * number;
            one.legacy = number;
            one.memo = memo_of(number);
        });
        of.create<before::vote>([&](before::vote& one) { one.owner = number % 1000; });
    }
    for (std::uint32_t number = 0; number < accounts; ++number)
        if (is_removed(number))
            of.remove(of.get<before::account, by_name>("account-" + std::to_string(number)));
    block.push();
    if (!can_undo) of.commit(of.revision());
    of.close();
}

/// What the present program asks for.
migration to_now() {
    migration all;
    all.type<now::account>("account")
        .renamed<&now::account::balance>("amount")
        .dropped("legacy")
        .computed([](const old_object& was, now::account& one) {
            one.total = one.balance + was.get<std::uint64_t>("legacy");
            if (was.text("memo") != memo_of(one.id.value)) one.total = 0;
        });
    all.type<before::vote>("vote");
    return all;
}

void require_former(const std::string& state) {
    database of(state, quick_options(open_mode::read_only));
    of.add_type<before::account>("account");
    std::uint32_t found = 0;
    for (const before::account& one : of.objects<before::account>()) {
        REQUIRE(one.amount == 3 * one.id.value);
        REQUIRE(one.memo == memo_of(one.id.value));
        ++found;
    }
    REQUIRE(found == accounts - (accounts + 3) / 7);
}

void require_migrated(database& of) {
    std::uint32_t found = 0;
    for (const now::account& one : of.objects<now::account>()) {
        const std::uint32_t number = one.id.value;
        REQUIRE_FALSE(is_removed(number));
        REQUIRE(one.name == "account-" + std::to_string(number));
        REQUIRE(one.balance == 3 * number);
        REQUIRE(one.total == 4 * number);
        REQUIRE(one.memo == memo_of(number));
        REQUIRE(one.about.view().empty());
        ++found;
    }
    REQUIRE(found == accounts - (accounts + 3) / 7);
    REQUIRE(of.get<now::account, by_name>("account-100").id.value == 100);
    REQUIRE(of.view<now::account, by_total>().begin()->id.value == accounts - 1);
    REQUIRE(std::distance(of.view<before::vote, by_owner>().equal_range(5U).begin(),
                          of.view<before::vote, by_owner>().equal_range(5U).end()) == 5);
}

void require_sound(const std::string& state) {
    const check::state_check found(state);
    REQUIRE(found.report().found_in_all() == 0);
}

} // namespace

TEST_CASE(
    "a state is taken over with new, lost, renamed, wider and computed fields, and other keys") {
    const scratch_folder folder;
    const std::string state = folder.path() / "state";
    make_former(state, with_checkpoints());
    const auto checkpoints = [&] {
        return checkpoint::published(disk::of_system(), state + "/checkpoint").newest()->generation;
    };
    const std::uint64_t before = checkpoints();
    revision_number revision = 0;
    {
        database of(state, with_checkpoints());
        revision = of.revision();
        REQUIRE_THROWS_WITH(of.add_type<now::account>("account"),
                            Contains("account") && Contains("open_options::migrate"));
    }
    for (int opening = 0; opening < 2; ++opening) { // the second time there is nothing to do
        migration all = to_now();
        open_options how = with_checkpoints();
        how.migrate = &all;
        database of(state, how);
        REQUIRE(of.revision() == revision);
        if (opening == 0) REQUIRE(checkpoints() == before + 1);
        of.add_type<now::account>("account");
        of.add_type<before::vote>("vote");
        require_migrated(of);
        if (opening == 0) {
            session block = of.start_session();
            REQUIRE(of.create<now::account>([](now::account& one) { one.name = "new"; }).id.value ==
                    accounts);
            block.undo();
        }
        of.close();
    }
    require_sound(state);
}

TEST_CASE("one migration serves states of several ages") {
    const scratch_folder folder;
    const std::string state = folder.path() / "state";
    const std::string age = GENERATE("before", "now", "now, renamed");
    INFO(age);
    make_former(state, quick_options());
    open_options how = quick_options();
    if (age != "before") {
        migration all;
        all.type<now::account>(age == "now" ? "account" : "member")
            .was("account")
            .renamed<&now::account::balance>("amount")
            .dropped("legacy");
        how.migrate = &all;
        database(state, how).close();
    }
    migration all;
    all.type<later::member>("member")
        .was("user")
        .was("account")
        .renamed<&later::member::balance>("amount")
        .dropped("legacy")
        .computed([](const old_object& was, later::member& one) {
            one.total = was.has("legacy") ? 2 : 1;
        });
    all.type<before::vote>("vote");
    how.migrate = &all;
    database of(state, how);
    of.add_type<later::member>("member");
    REQUIRE_FALSE(of.memory().types().find("account"));
    std::uint32_t found = 0;
    for (const later::member& one : of.objects<later::member>()) {
        REQUIRE(one.balance == 3 * one.id.value);
        REQUIRE(one.memo == memo_of(one.id.value));
        REQUIRE(one.total == (age == "before" ? 2 : 1));
        ++found;
    }
    REQUIRE(found == accounts - (accounts + 3) / 7);
    REQUIRE(of.get<later::member, by_name>("account-100").id.value == 100);
}

TEST_CASE("a state tells what became of its types, the oldest first, and not what was never done") {
    const scratch_folder folder;
    const std::string state = folder.path() / "state";
    make_former(state, quick_options());
    const auto types = [&] {
        database of(state, quick_options());
        return of.memory().types();
    };
    const catalogue former = types();
    REQUIRE(past_migrations(state, former).empty());
    // A kill before the segment took its place: the step was not made, and the next call makes it.
    const type_schema other = schema_of<now::short_account>("account");
    add_past_migrations(state, former,
                        {past_migration::of(former.find("account")->schema, other, {})});
    REQUIRE(past_migrations(state, former).empty());
    open_options how = quick_options();
    migration first = to_now();
    how.migrate = &first;
    database(state, how).close();
    const catalogue middle = types();
    migration second;
    second.type<later::member>("member").was("account").dropped("total");
    how.migrate = &second;
    database(state, how).close();
    const auto told = past_migrations(state, types());
    REQUIRE(told.size() == 2);
    REQUIRE(told[0].type == "account");
    REQUIRE(told[0].from == former.find("account")->schema.hash());
    REQUIRE(told[0].to == middle.find("account")->schema.hash());
    REQUIRE(told[0].is_computed);
    REQUIRE(told[0].fields == std::vector<past_migration::field>{
                                  {"renamed", "balance", "amount u32", "u64"},
                                  {"widened", "name", "fixed_string<16>", "fixed_string<32>"},
                                  {"added", "total", "", "u64"},
                                  {"added", "about", "", "shared_string"},
                                  {"dropped", "legacy", "u64", ""}});
    REQUIRE(told[0].keys_added == std::vector<std::string>{"by_name", "by_total"});
    REQUIRE(told[0].keys_dropped == std::vector<std::string>{"by_name"});
    REQUIRE((told[1].type == "member" && told[1].was == "account"));
    REQUIRE(told[1].from == told[0].to);
    REQUIRE(told[1].fields.size() == 1);
    REQUIRE_FALSE(told[1].is_computed);
    REQUIRE(past_migrations(state, middle) == std::vector(told.begin(), told.begin() + 1));
}

TEST_CASE("what cannot be taken over leaves the state as it was") {
    const scratch_folder folder;
    const std::string state = folder.path() / "state";
    make_former(state, quick_options());
    migration all;
    open_options how = quick_options();
    how.migrate = &all;
    SECTION("fields that are not named as dropped") {
        all.type<now::account>("account").renamed<&now::account::balance>("amount");
        REQUIRE_THROWS_WITH(database(state, how), Contains("legacy"));
    }
    SECTION("values that do not fit") {
        all.type<now::short_account>("account");
        REQUIRE_THROWS_WITH(database(state, how), Contains("account") && Contains("amount"));
    }
    SECTION("a key that becomes unique") {
        all.type<now::single_vote>("vote");
        REQUIRE_THROWS_WITH(database(state, how), Contains("vote.by_owner"));
    }
    require_former(state);
    require_sound(state);
}

TEST_CASE("blocks that can be undone are given up only if that is said") {
    const scratch_folder folder;
    const std::string state = folder.path() / "state";
    make_former(state, quick_options(), /*can_undo=*/true);
    migration all = to_now();
    open_options how = quick_options();
    how.migrate = &all;
    REQUIRE_THROWS_WITH(database(state, how), Contains("1 block(s)") && Contains("commit_all"));
    require_former(state);
    all.commit_all();
    database of(state, how);
    of.add_type<now::account>("account");
    of.add_type<before::vote>("vote");
    require_migrated(of);
}

TEST_CASE("a migration that is killed leaves the state as it was, or as it is to be") {
    const scratch_folder folder;
    const std::uint64_t seed = test::new_seed();
    INFO("CHAINBASE_TEST_SEED=" << seed);
    test::random_source random(seed);
    const auto migrate = [&](const std::string& state) {
        migration all = to_now();
        open_options how = with_checkpoints();
        how.migrate = &all;
        database(state, how).close();
    };
    const std::string whole = folder.path() / "whole";
    make_former(whole, with_checkpoints());
    const auto begin = std::chrono::steady_clock::now();
    const std::string once = folder.path() / "once";
    fs::copy(whole, once, fs::copy_options::recursive);
    REQUIRE(test::succeeds_in_child([&] { migrate(once); }));
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - begin);
    unsigned former = 0, migrated = 0;
    for (int kill = 0; kill < 40; ++kill) {
        const std::string state = folder.path() / std::to_string(kill);
        fs::copy(whole, state, fs::copy_options::recursive);
        test::run_process([&] { migrate(state); },
                          std::chrono::microseconds(
                              1 + random.below(static_cast<std::uint32_t>(took.count()) + 1)));
        try {
            database of(state, with_checkpoints());
            of.add_type<before::account>("account");
            of.close();
            require_former(state);
            ++former;
        } catch (const schema_error&) {
            database of(state, with_checkpoints());
            of.add_type<now::account>("account");
            of.add_type<before::vote>("vote");
            require_migrated(of);
            ++migrated;
        }
        migrate(state);
        require_sound(state);
        fs::remove_all(state);
    }
    WARN(former << " times as it was, " << migrated << " times as it is to be");
}
