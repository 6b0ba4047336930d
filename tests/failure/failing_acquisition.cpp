// Every slot, chunk of the log and growth of a file that an operation acquires fails in turn: the
// first, the second, ... until none is left. After each failure the state is what it was, byte by
// byte, and works.

#include <catch2/catch.hpp>
#include <tests/support/failing_database.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/world.hpp>

#include <optional>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

namespace {

/// One random operation under failures; then the random numbers go on after it.
void change_until_success(world& w, random_source& random, failures& seen) {
    const snapshot before = w.take_snapshot();
    random_source after = random;
    until_success(
        seen,
        [&] {
            after = random;
            w.change_plainly(after);
        },
        [&] {
            const snapshot now = w.take_snapshot();
            if (!(now == before)) throw mismatch("changed: " + now.difference(before));
        });
    random = after;
}

void random_operations(std::uint64_t seed, std::uint64_t operations, const habits& how,
                       failures& seen) {
    const scratch_folder folder;
    world w(folder / "state", {.changes = how});
    random_source random(seed);
    INFO("seed " << seed);
    for (std::uint64_t done = 0; done < operations; ++done) {
        change_until_success(w, random, seen);
        if (random.chance(10) && w.depth() < 4) w.start();
        if (random.chance(3) && w.depth() > 0) w.undo();
        if (random.chance(3) && w.depth() > 0) w.squash();
        if (done % 500 == 0) w.check(random);
    }
    w.check(random);
    w.undo_all();
    w.check(random);
    if (is_usual_run()) CHECK(w.peak() >= how.objects);
}

} // namespace

TEST_CASE("operations on a few objects survive each failing acquisition") {
    failures seen;
    random_operations(test_seed(1), short_test_operations(20'000), {.objects = 8}, seen);
    if (is_usual_run()) CHECK(seen[fault::point::slot] > 1000);
}

TEST_CASE("operations that grow every file survive each failing acquisition") {
    failures seen;
    random_operations(test_seed(2), short_test_operations(12'000),
                      {.objects = 200, .spread = 20, .interrupts = 10}, seen);
    if (!is_usual_run()) return;
    CHECK(seen[fault::point::slot] > 1000);
    CHECK(seen[fault::point::growth] > 10);
}

TEST_CASE("operations in one long session survive each failing acquisition") {
    const scratch_folder folder;
    world w(folder / "state", {.changes = {.objects = 60, .spread = 20, .interrupts = 10}});
    random_source random(test_seed(7));
    failures seen;
    w.start();
    for (std::uint64_t done = 0; done < short_test_operations(10'000); ++done)
        change_until_success(w, random, seen);
    w.check(random);
    if (is_usual_run()) {
        CHECK(seen[fault::point::chunk] > 0);
        CHECK(w.peak() >= 60);
    }
    w.undo();
}

TEST_CASE("starting a session survives each failing acquisition") {
    const scratch_folder folder;
    world w(folder / "state");
    random_source random(3);
    for (int i = 0; i < 200; ++i)
        w.change_plainly(random);
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
        w->change_plainly(random);
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
        w.change_plainly(random);
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
        w.change_plainly(random);
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
        w->change_plainly(random);
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
