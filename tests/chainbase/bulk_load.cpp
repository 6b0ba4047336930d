// A state loaded from objects alone equals one made by ordinary calls.

#include <chainbase/offline/check/state_check.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <tests/support/loaded_copy.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/world.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

namespace {

/// Walks randomly in a state and closes it; undoes everything that can be undone.
void walk(world& w, random_source& random, int steps) {
    for (int step = 0; step < steps; ++step)
        w.step(random);
    w.undo_all();
    w.check(random);
}

void append_findings(std::string& to, const check::part_report& part) {
    for (const check::finding& one : part.findings)
        to += one.file + ": " + one.what + "\n";
    for (const check::part_report& below : part.parts)
        append_findings(to, below);
}

/// The faults of a state; empty if there are none.
std::string findings(const std::filesystem::path& state) {
    std::string all;
    append_findings(all, check::state_check(state).report());
    return all;
}

template <typename View>
std::vector<std::uint32_t> ids_of(const View& view) {
    std::vector<std::uint32_t> ids;
    for (const auto& object : view)
        ids.push_back(object.id.value);
    return ids;
}

stake some_stake(std::uint32_t number) {
    stake one;
    one.id = id<stake>(number);
    one.owner = number;
    one.score = (number * 37) % 11;
    one.weight = number % 3;
    return one;
}

void add(bulk_load::object_loader& to, const stake& one) {
    const rows::segment_buffers none{{}};
    to.add(reinterpret_cast<const std::byte*>(&one), none);
}

type_schema stake_schema() {
    const scratch_folder folder;
    database db(folder / "state", quick_options());
    db.add_type<stake>("stake");
    return db.memory().types().find("stake")->schema;
}

template <typename Work>
std::string message_of(Work&& work) {
    try {
        work();
    } catch (const error& problem) {
        return problem.what();
    }
    return "";
}

} // namespace

TEST_CASE("a state loaded from the objects of another one has its content and goes on") {
    const std::uint64_t seed = test_seed(61);
    const bool sorts = GENERATE(false, true);
    const auto told = sorts ? bulk_load::which_keys::computed : bulk_load::which_keys::all;
    for (std::uint64_t round = 0; round < 6; ++round) {
        INFO("seed " << seed << ", round " << round << ", sorts " << sorts);
        random_source random(seed + round);
        const scratch_folder folder;
        std::uint64_t digest = 0;
        revision_number revision = 0;
        {
            world w(folder / "from", {.changes = {.objects = 60}});
            walk(w, random, 3'000);
            w.db().set_revision(77);
            digest = digest_of(w.db());
            revision = w.db().revision();
        }
        load_copy(folder / "from", folder / "to", told);
        REQUIRE(findings(folder / "to") == std::string());
        world w(folder / "to", {.changes = {.objects = 60}});
        CHECK(w.db().revision() == revision);
        CHECK(w.db().opened().how == opening::way::attached);
        CHECK(digest_of(w.db()) == digest);
        check_keys_of(w.db());
        w.check(random);
        walk(w, random, 1'000);
        w.compact();
        w.check(random);
    }
}

TEST_CASE("a large hash table is loaded in the order of its hashes") {
    const scratch_folder folder;
    constexpr std::uint32_t objects = 20'000; // more than fit in any table without gaps
    {
        database db(folder / "from", quick_options());
        db.add_type<account>("account");
        for (std::uint32_t n = 0; n < objects; ++n)
            db.create<account>([&](account& a) {
                a.name = std::string_view(std::to_string(n));
                a.number = n;
            });
    }
    load_copy(folder / "from", folder / "to");
    REQUIRE(findings(folder / "to") == std::string());
    database db(folder / "to", quick_options());
    db.add_type<account>("account");
    for (std::uint32_t n = 0; n < objects; n += 97)
        CHECK(db.get<account, by_number>(n).id.value == n);
}

TEST_CASE("objects of equal keys come by their ids, before and after they are loaded") {
    const scratch_folder folder;
    std::vector<std::uint32_t> all;
    std::vector<std::uint32_t> odd;
    {
        database db(folder / "from", quick_options());
        db.add_type<account>("account");
        db.add_type<token>("token");
        for (std::uint32_t n = 0; n < 60; ++n) {
            db.create<account>([&](account& a) {
                a.name = std::string_view(std::to_string(n));
                a.number = n;
            });
            db.create<token>([&](token& t) {
                t.code = n;
                t.kind = n % 2;
            });
            all.push_back(n);
            if (n % 2 == 1) odd.push_back(n);
        }
        for (const std::uint32_t n :
             {7U, 59U, 1U, 3U, 0U, 58U}) { // each leaves its group of equal keys and returns
            db.modify(db.get(id<account>(n)), [](account& a) { a.group = 1; });
            db.modify(db.get(id<account>(n)), [](account& a) { a.group = 0; });
            db.modify(db.get(id<token>(n)), [](token& t) { t.kind = 9; });
            db.modify(db.get(id<token>(n)), [&](token& t) { t.kind = n % 2; });
        }
        CHECK(ids_of(db.view<account, by_group>()) == all);
        CHECK(ids_of(db.view<token, by_kind>().equal_range(1U)) == odd);
    }
    CHECK(findings(folder / "from") == std::string());
    load_copy(folder / "from", folder / "to");
    database db(folder / "to", quick_options());
    db.add_type<account>("account");
    db.add_type<token>("token");
    CHECK(ids_of(db.view<account, by_group>()) == all);
    CHECK(ids_of(db.view<token, by_kind>().equal_range(1U)) == odd);
}

TEST_CASE("trees of every size are sound and ranked") {
    const type_schema schema = stake_schema();
    for (std::uint32_t size = 0; size <= 130; ++size) {
        const scratch_folder folder;
        {
            bulk_load::new_state made(folder / "state", quick_limits());
            bulk_load::object_loader loader = made.add_type(schema);
            for (std::uint32_t number = 0; number < size; ++number)
                add(loader, some_stake(number));
            loader.finish(size + 5, {});
            made.close(1);
        }
        INFO(size << " objects");
        REQUIRE(findings(folder / "state") == std::string());
        database db(folder / "state", quick_options());
        db.add_type<stake>("stake");
        REQUIRE(db.count<stake>() == size);
        REQUIRE(db.next_id<stake>().value == size + 5);
        const auto ranked = db.view<stake, by_weight>();
        std::size_t rank = 0;
        for (auto at = ranked.begin(); at != ranked.end(); ++at)
            REQUIRE(ranked.rank(at) == rank++);
        db.create<stake>([](stake& s) { s.owner = 1'000'000; });
        db.close();
        REQUIRE(findings(folder / "state") == std::string());
    }
}

TEST_CASE("texts of every size class and beyond are kept") {
    const scratch_folder folder;
    {
        database db(folder / "from", quick_options());
        db.add_type<post>("post");
        std::uint32_t n = 0;
        for (const std::size_t bytes : {0, 1, 16, 17, 100, 4096, 65'536, 65'537, 300'000})
            db.create<post>([&](post& p) {
                p.permlink = std::to_string(n++);
                p.body = std::string(bytes, static_cast<char>('a' + n % 26));
            });
    }
    load_copy(folder / "from", folder / "to");
    CHECK(findings(folder / "to") == std::string());
    database from(folder / "from", quick_options());
    database to(folder / "to", quick_options());
    from.add_type<post>("post");
    to.add_type<post>("post");
    REQUIRE(to.count<post>() == from.count<post>());
    for (const post& p : from.objects<post>())
        CHECK(to.get(p.id).body == p.body);
}

TEST_CASE("what cannot be loaded is refused by name") {
    const scratch_folder folder;
    bulk_load::new_state made(folder / "state", quick_limits());
    bulk_load::object_loader loader = made.add_type(stake_schema());
    add(loader, some_stake(3));

    SECTION("an id twice") {
        CHECK_THAT(message_of([&] { add(loader, some_stake(3)); }),
                   Contains("stake") && Contains("id 3"));
    }
    SECTION("the highest number, which is no id") {
        stake one = some_stake(4);
        one.id = id<stake>(UINT32_MAX);
        CHECK_THAT(message_of([&] { add(loader, one); }), Contains("stake"));
    }
    SECTION("a unique key twice") {
        stake same = some_stake(3);
        same.id = id<stake>(9);
        add(loader, same);
        CHECK_THAT(message_of([&] { loader.finish(10, {}); }),
                   Contains("stake.by_score") && Contains("3") && Contains("9"));
    }
    SECTION("an order of other objects") {
        bulk_load::key_orders orders;
        orders.trees["by_weight"] = {8};
        CHECK_THAT(message_of([&] { loader.finish(10, orders); }),
                   Contains("by_weight") && Contains("object 8"));
    }
    SECTION("an order with an object twice") {
        bulk_load::key_orders orders;
        orders.trees["by_weight"] = {3, 3};
        CHECK_THAT(message_of([&] { loader.finish(10, orders); }), Contains("by_weight"));
    }
    SECTION("a table without an object") {
        bulk_load::key_orders orders;
        orders.tables["by_owner"];
        CHECK_THAT(message_of([&] { loader.finish(10, orders); }), Contains("by_owner"));
    }
}

TEST_CASE("a key that a function computes needs its order told") {
    const scratch_folder folder;
    {
        database db(folder / "from", quick_options());
        db.add_type<account>("account");
        db.create<account>([](account& a) { a.name = "a"; });
    }
    const auto nothing = [](const rows::type_rows&) { return bulk_load::key_orders(); };
    CHECK_THAT(message_of([&] { load_copy(folder / "from", folder / "to", nothing); }),
               Contains("account.by_distance") && Contains("function"));
}

TEST_CASE("orders that forget objects keep the others in theirs") {
    bulk_load::key_orders orders;
    orders.trees["by_a"] = {5, 3, 8};
    orders.tables["by_b"].entries = {{5, 77, false}, {3, 77, true}, {8, 77, true}, {9, 50, false}};
    orders.retain([](std::uint32_t id) { return id != 5; });
    CHECK(orders.trees["by_a"] == std::vector<std::uint32_t>{3, 8});
    const auto& entries = orders.tables["by_b"].entries;
    REQUIRE(entries.size() == 3);
    CHECK((entries[0].id == 3 && entries[0].hash == 77 && !entries[0].has_key_of_previous));
    CHECK((entries[1].id == 8 && entries[1].has_key_of_previous));
    CHECK((entries[2].id == 9 && !entries[2].has_key_of_previous));
}

TEST_CASE("nothing is loaded into a state that is there") {
    const scratch_folder folder;
    {
        database db(folder / "state", quick_options());
    }
    CHECK_THROWS_AS(bulk_load::new_state(folder / "state", quick_limits()), usage_error);
}
