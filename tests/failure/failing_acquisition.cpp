// Every acquisition of a slot, a log chunk or file space by an operation fails in turn.

#include <chainbase/database.hpp>

#include <catch2/catch.hpp>
#include <tests/chainbase/stories.hpp>
#include <tests/support/failing_database.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/snapshot.hpp>
#include <tests/support/world.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

// Every acquisition of a slot, a log chunk or file space by an operation fails in turn: the first,
// the second, ... until none is left. After each failure the state is unchanged, byte by byte, and
// usable.

namespace {

/// One random operation under failures; afterwards the random numbers continue as if without them.
void change_until_success(world& w, random_source& random, failures& seen) {
    const snapshot before = w.take_snapshot();
    random_source after = random;
    until_success(
        seen,
        [&] {
            after = random;
            w.change_unchecked(after);
        },
        [&] {
            const snapshot now = w.take_snapshot();
            if (!(now == before)) throw mismatch("changed: " + now.difference(before));
        });
    random = after;
}

/// The required number of failures of each kind of acquisition in a test.
using wanted_failures = std::map<fault::point, std::uint64_t>;

bool is_covered(const failures& seen, const wanted_failures& wanted) {
    return std::ranges::all_of(wanted, [&](const auto& one) {
        const auto at = seen.find(one.first);
        return at != seen.end() && at->second > one.second;
    });
}

/// So many operations, and as many more as are needed for all required failures, whatever the seed
/// and the length.
void random_operations(std::uint64_t seed, std::uint64_t operations, const change_options& how,
                       const wanted_failures& wanted) {
    const scratch_folder folder;
    world w(folder / "state", {.changes = how});
    random_source random(seed);
    failures seen;
    INFO("seed " << seed);
    const auto is_enough = [&] { return w.peak() >= how.objects && is_covered(seen, wanted); };
    for (std::uint64_t done = 0; done < operations || !is_enough(); ++done) {
        REQUIRE(done < operations + 200'000);
        change_until_success(w, random, seen);
        if (random.chance(10) && w.depth() < 4) w.start();
        if (random.chance(3) && w.depth() > 0) w.undo();
        if (random.chance(3) && w.depth() > 0) w.squash();
        if (done % 500 == 0) w.check(random);
    }
    w.check(random);
    w.undo_all();
    w.check(random);
}

} // namespace

TEST_CASE("operations on a few objects survive each failing acquisition") {
    random_operations(test_seed(1), short_test_operations(20'000), {.objects = 8},
                      {{fault::point::slot, 1000}});
}

TEST_CASE("operations that grow every file survive each failing acquisition") {
    random_operations(test_seed(2), short_test_operations(12'000),
                      {.objects = 200, .spread = 20, .interrupts = 10},
                      {{fault::point::slot, 1000}, {fault::point::growth, 10}});
}

TEST_CASE("operations in one long session survive each failing acquisition") {
    const scratch_folder folder;
    world w(folder / "state", {.changes = {.objects = 60, .spread = 20, .interrupts = 10}});
    random_source random(test_seed(7));
    failures seen;
    w.start();
    const std::uint64_t operations = short_test_operations(10'000);
    for (std::uint64_t done = 0;
         done < operations || seen[fault::point::chunk] == 0 || w.peak() < 60; ++done) {
        REQUIRE(done < operations + 200'000);
        change_until_success(w, random, seen);
    }
    w.check(random);
    w.undo();
}

TEST_CASE("starting a session survives each failing acquisition") {
    const scratch_folder folder;
    world w(folder / "state");
    random_source random(3);
    for (int i = 0; i < 200; ++i)
        w.change_unchecked(random);
    const snapshot before = w.take_snapshot();
    failures seen;
    std::vector<session> sessions;
    while (seen[fault::point::chunk] < 5) {
        const auto revision = w.db().revision();
        until_success(
            seen, [&] { sessions.push_back(w.db().start_session()); },
            [&] {
                CHECK(w.db().revision() == revision);
                CHECK(w.db().memory().log()->open_sessions() == sessions.size());
            });
    }
    CHECK(seen[fault::point::growth] > 0);
    while (!sessions.empty())
        sessions.pop_back();
    CHECK(w.db().revision() == 0);
    CHECK(w.take_snapshot() == before);
    w.check(random);
}

TEST_CASE("creating a state and its types survives each failing acquisition") {
    const scratch_folder folder;
    failures seen;
    std::optional<world> w;
    until_success(seen, [&] { w.emplace(folder / "state"); }, [&] { w.reset(); });
    CHECK(seen[fault::point::growth] > 20);
    random_source random(5);
    for (int i = 0; i < 2000; ++i)
        w->change_unchecked(random);
    w->check(random);
    w->reopen();
}

TEST_CASE("a type that could not be added does not spoil the next one") {
    const scratch_folder folder;
    auto types = all_sample_types();
    random_source random(6);
    for (std::uint64_t n = 0;; ++n) {
        const auto state = folder / std::to_string(n);
        bool failed = false;
        {
            database db(state, quick_options());
            try {
                const fail_nth failure(n);
                types[0]->add_to(db);
            } catch (const injected_failure&) {
                failed = true;
            }
            types[1]->add_to(db);
            types[1]->read(db);
            for (int i = 0; i < 100; ++i)
                types[1]->change(db, random, {});
        }
        database db(state, quick_options());
        types[1]->add_to(db);
        types[1]->check(db, random);
        types[0]->add_to(db);
        types[0]->read(db);
        for (int i = 0; i < 100; ++i)
            types[0]->change(db, random, {});
        types[0]->check(db, random);
        if (!failed) break;
        REQUIRE(n < 50);
    }
}

TEST_CASE("compaction survives each failing acquisition") {
    const scratch_folder folder;
    world w(folder / "state", {.changes = {.objects = 150}});
    random_source random(test_seed(8));
    w.fill(random);
    for (int i = 0; i < 4000; ++i)
        w.change_unchecked(random);
    const std::uint64_t wanted = digest_of(w.db());
    failures seen;
    until_success(
        seen, [&] { w.db().compact(); },
        [&] {
            CHECK(digest_of(w.db()) == wanted);
            w.check(random);
        });
    CHECK(digest_of(w.db()) == wanted);
    for (int i = 0; i < 1000; ++i)
        w.change_unchecked(random);
    w.check(random);
}

TEST_CASE("opening again survives each failing acquisition") {
    const scratch_folder folder;
    std::optional<world> w(std::in_place, folder / "state",
                           walk_options{.changes = {.objects = 100}, .verify = false});
    random_source random(test_seed(9));
    w->fill(random);
    w->start();
    for (int i = 0; i < 500; ++i)
        w->change_unchecked(random);
    w->push();
    const snapshot before = w->take_snapshot();
    w.reset();
    failures seen;
    until_success(
        seen, [&] { w.emplace(folder / "state", walk_options{.verify = false}); },
        [&] { w.reset(); });
    CHECK(w->take_snapshot() == before);
    check_keys_of(w->db());
    w->undo();
    check_keys_of(w->db());
}

// Repeats the tests of undo and of operations, with each acquisition in each call failing in turn;
// ending a session acquires nothing.

namespace {

template <typename T>
using failing = one_type<T, failing_database>;

} // namespace

TEMPLATE_TEST_CASE("undo of unique keys survives each failing acquisition", "", item, card,
                   ticket) {
    swapped_keys<failing<TestType>>();
    taken_key<failing<TestType>>();
    key_used_again<failing<TestType>>();
    ring_of_keys<failing<TestType>>();
}

TEMPLATE_TEST_CASE("removals survive each failing acquisition", "", item, card, ticket) {
    removing_new<failing<TestType>>();
    removing_changed<failing<TestType>>();
    reused_slot<failing<TestType>>();
    ids_given_again<failing<TestType>>();
    clearing<failing<TestType>>();
}

TEMPLATE_TEST_CASE("colliding changes survive each failing acquisition", "", item, card, ticket) {
    colliding_modification<failing<TestType>>();
    colliding_creation<failing<TestType>>();
    caught_collision<failing<TestType>>();
    same_key<failing<TestType>>();
}

TEST_CASE("hash tables that grow within sessions survive each failing acquisition") {
    failing<card> s;
    for (std::uint32_t k = 0; k < 300; ++k)
        s.add(k, k);
    const snapshot before = s.now();
    failing_database::seen().clear();
    {
        auto outer = s.db.start_session();
        for (std::uint32_t k = 300; k < 1000; ++k)
            s.add(k, k);
        auto inner = s.db.start_session();
        s.clear();
        for (std::uint32_t k = 0; k < 1000; ++k)
            s.add(k, k);
        inner.squash();
    }
    CHECK(s.now() == before);
    const failures seen = failing_database::seen();
    CHECK(seen.at(fault::point::slot) > 1000);
    CHECK(seen.at(fault::point::growth) > 2);
    for (std::uint32_t k = 0; k < 300; ++k)
        CHECK(s.at(k)->group == k);
}

// A removal runs out of log space midway, between leaving two hash tables. Its changes are undone,
// also for objects that are new in the session.

namespace {

struct by_team;
struct by_number;

/// The key that links objects to each other is left first.
struct player {
    chainbase::id<player> id;
    std::uint32_t team = 0;
    std::uint32_t number = 0;

    using keys = chainbase::keys<hashed_non_unique<by_team, &player::team>,
                                 hashed_unique<by_number, &player::number>>;
};
BOOST_DESCRIBE_STRUCT(player, (), (id, team, number))

const player& add(database& db, std::uint32_t number) {
    return db.create<player>([&](player& p) {
        p.team = number / 3;
        p.number = number;
    });
}

/// Removes an object while no chunk is available. Returns whether that failed.
bool fails_to_remove(database& db, const player& object) {
    const fail_nth failing(0);
    try {
        db.remove(object);
        return false;
    } catch (const injected_failure&) {
        return true;
    }
}

std::size_t left_in_chunk(log_position tail) {
    return undo_log::chunk_bytes - (tail - window_header::page_bytes) % undo_log::chunk_bytes;
}

} // namespace

TEST_CASE("a removal that finds no log half way leaves new objects linked as they were") {
    const scratch_folder folder;
    database db(folder / "state", quick_options());
    db.add_type<player>("player");
    auto session = db.start_session();
    const auto& log = db.memory().words();
    std::size_t failures = 0;
    for (std::uint32_t number = 0; log.chunks.live < 40; number += 3) {
        add(db, number);
        const player& middle = add(db, number + 1);
        add(db, number + 2);
        const std::size_t left = left_in_chunk(log.tail);
        if (left > 4096) continue;
        const snapshot before(db.memory());
        if (!fails_to_remove(db, middle)) continue;
        ++failures;
        REQUIRE(snapshot(db.memory()) == before);
        const auto team = db.view<player, by_team>().equal_range(number / 3);
        REQUIRE(std::distance(team.begin(), team.end()) == 3);
        db.remove(middle);
    }
    CHECK(failures > 10);
    session.undo();
    CHECK(db.count<player>() == 0);
}
