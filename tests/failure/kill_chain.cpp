// A process that applies, rolls back and pops blocks is killed: where the log grows, between the
// words of the log, while before-images are copied back, and at random times. Reopening restores
// the state after the last complete block.

#include <catch2/catch.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/one_type.hpp>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>

using namespace chainbase;
using namespace chainbase::test;

namespace fs = std::filesystem;

namespace {

using enum fault::point;

/// 2000 objects, and some 1500 modifications per block: they fill chunk after chunk of the log.
const chain_options large{
    .changes = {.objects = 334, .spread = 10, .interrupts = 5, .modifies = 850},
    .transactions = 9,
    .operations = 900};

/// Kills the chain of `reference` throughout a run of at least `least` steps that reaches the point
/// more than `wanted` times.
void kill_chain_all_along(reference_chain& reference, fault::point at, std::uint64_t wanted,
                          std::uint64_t least, std::uint64_t tries) {
    const kill_trial trial = chain_trial(reference, steps_that_reach(reference, at, wanted, least));
    const std::uint64_t points = points_of(at, trial);
    REQUIRE(points > wanted);
    kill_all_along(at, trial, points, tries, 7);
}

/// Kills a process at a random time after it is ready. Its work does not end.
void kill_at_random(random_source& random, std::uint32_t longest,
                    const std::function<void(progress&)>& work, progress& told) {
    const pid_t process = fork_process([&] { work(told); });
    wait_until_ready(process, told);
    usleep(random.below(longest));
    ::kill(process, SIGKILL);
    REQUIRE(wait_for(process).killed);
}

/// The state, new or missing, works.
void check_works(const fs::path& state, random_source& random) {
    world w(state);
    for (int i = 0; i < 50; ++i)
        w.change_unchecked(random);
    w.check(random);
}

} // namespace

// --- while blocks are applied ---

TEST_CASE("killed at the first, second, third ... before-image") {
    reference_chain reference(test_seed(1));
    const kill_trial trial =
        chain_trial(reference, steps_that_reach(reference, log_append, 100, 40));
    for (std::uint64_t n = 0; n < 100; ++n)
        REQUIRE(kill_at(log_append, n, trial));
}

TEST_CASE("killed at before-images all along the chain") {
    reference_chain reference(test_seed(2));
    kill_chain_all_along(reference, log_append, 1000, 40, 200);
}

TEST_CASE("killed between the words that start, push, squash, undo and commit sessions") {
    reference_chain reference(test_seed(6));
    const kill_trial trial = chain_trial(reference, steps_that_reach(reference, log_word, 300, 40));
    const std::uint64_t points = points_of(log_word, trial);
    REQUIRE(points > 300);
    for (std::uint64_t n = 0; n < points; n += 1 + (n > 250 ? n % 4 : 0))
        REQUIRE(kill_at(log_word, n, trial));
}

TEST_CASE("killed at random times") {
    const std::uint64_t seed = test_seed(3);
    reference_chain reference(seed);
    random_source random(seed);
    for (int round = 0; round < 150; ++round) {
        const scratch_folder folder;
        const auto told = shared_progress();
        const auto work = [&](progress& self) {
            chain_model chain(folder / "state", seed);
            self.ready = 1;
            apply_steps(chain, 0, UINT64_MAX, self);
        };
        kill_at_random(random, 8000, work, *told);
        INFO("seed " << seed << ", round " << round << ", in step " << told->begun);
        CHECK_NOTHROW(check_state_left(folder / "state", reference, *told));
    }
}

TEST_CASE("killed at each growth of a file while the state and its types are made") {
    random_source random(test_seed(4));
    kill_trial trial;
    trial.work = [](const fs::path& state, const killed_process& self) {
        self.arm();
        const world made(state, {.verify = false});
    };
    trial.check = [&](const fs::path& state, const progress&) { check_works(state, random); };
    CHECK(kill_at_each(growth, trial) > 20);
    const scratch_folder folder;
    check_works(folder / "state", random);
}

TEST_CASE("killed at random times while the state and its types are made") {
    random_source random(test_seed(4));
    for (int round = 0; round < 60; ++round) {
        const scratch_folder folder;
        const auto told = shared_progress();
        const auto work = [&](progress& self) {
            self.ready = 1;
            const world made(folder / "state", {.verify = false});
            pause();
        };
        kill_at_random(random, 6000, work, *told);
        check_works(folder / "state", random);
    }
}

TEST_CASE(
    "killed, opened, continued and killed again, the chain is the one that was never killed") {
    const std::uint64_t seed = test_seed(5);
    reference_chain reference(seed);
    random_source random(seed);
    const scratch_folder folder;
    const auto told = shared_progress();
    std::uint64_t at = 0;
    int kills = 0;
    while (at < 400 || kills <= 10) { // even if this seed's chain rarely reaches that many
        const std::uint64_t until = std::max<std::uint64_t>(400, at + 40);
        const std::uint64_t n = random.below(4000);
        const ending end = run_process([&] {
            chain_model chain(folder / "state", seed);
            kill_point(log_append).arm(n);
            apply_steps(chain, at, until, *told);
        });
        if (end.killed) ++kills;
        at = check_state_left(folder / "state", reference, *told, afterwards::keep);
        told->done = told->begun = at;
    }
}

// --- where the log takes another chunk ---

TEST_CASE("killed each time the log moves on to another chunk") {
    reference_chain reference(test_seed(31), large);
    const std::uint64_t steps = steps_that_reach(reference, chunk, 2, 20);
    CHECK(kill_at_each(chunk, chain_trial(reference, steps)) >= 3);
}

TEST_CASE("killed again and again while the log takes a chunk, its file does not grow") {
    const scratch_folder folder;
    std::uintmax_t settled = 0;
    for (int kills = 0; kills < 6; ++kills) {
        const ending end = run_process([&] {
            database db(folder / "state", quick_options());
            db.add_type<item>("item");
            const auto block = db.start_session();
            kill_point(log_word).arm(0); // the chunk is taken, but the tail is not in it yet
            for (std::uint32_t key = 0;; ++key)
                db.create<item>([&](item& made) { made.key = key; });
        });
        REQUIRE(end.killed);
        const auto length = fs::file_size(folder / "state/segment/undo_log");
        if (kills == 0) settled = length;
        CHECK(length == settled);
    }
}

TEST_CASE("killed each time a file grows under a chain of large blocks") {
    reference_chain reference(test_seed(32), large);
    CHECK(kill_at_each(growth, chain_trial(reference, 20)) >= 1);
}

TEST_CASE("killed at before-images all along a chain of large blocks") {
    reference_chain reference(test_seed(33), large);
    const std::uint64_t steps = steps_that_reach(reference, chunk, 2, 20);
    const kill_trial trial = chain_trial(reference, steps);
    kill_all_along(log_append, trial, points_of(log_append, trial), 60, 7);
}

TEST_CASE("blocks in several chunks of the log are undone after opening again, byte for byte") {
    const scratch_folder folder;
    const std::uint64_t seed = test_seed(34);
    std::map<revision_number, snapshot> at;
    {
        world w(folder / "state", {.changes = large.changes, .verify = false});
        random_source random(seed);
        w.fill(random);
        at.emplace(0, w.take_snapshot());
        while (w.db().memory().log()->bytes_in_use() < 3 * undo_log::chunk_bytes || at.size() < 6) {
            w.start();
            for (int i = 0; i < 1500; ++i)
                w.change_unchecked(random);
            w.push();
            at.emplace(w.db().revision(), w.take_snapshot());
        }
    }
    REQUIRE(at.size() > 5);
    {
        world w(folder / "state", {.verify = false}); // reopening walks the chunks
        CHECK(w.take_snapshot() == at.at(w.db().revision()));
        while (w.depth() > at.size() / 2) {
            w.undo();
            REQUIRE(w.take_snapshot() == at.at(w.db().revision()));
        }
    }
    world w(folder / "state", {.verify = false});
    w.db().undo_all();
    CHECK(w.db().revision() == 0);
    CHECK(w.take_snapshot() == at.at(0));
    check_keys_of(w.db());
}

// --- while before-images are copied back ---

TEST_CASE("killed while an operation, a transaction or a block is rolled back") {
    reference_chain reference(test_seed(11));
    const std::uint64_t steps = steps_that_reach(reference, rollback_copy, 260, 60);
    const auto next = [](std::uint64_t n) { return n + 1 + n / 25; };
    CHECK(kill_at_each(rollback_copy, chain_trial(reference, steps), 0, next) > 60);
}

TEST_CASE("recovery that is killed again and again comes to the same end") {
    reference_chain reference(test_seed(12));
    const kill_trial endless = chain_trial(reference, UINT64_MAX);
    int kills = 0;
    for (std::uint64_t first = 50; first < 6000 || kills <= 20; first += 997) {
        REQUIRE(first < 100'000);
        const scratch_folder folder;
        const auto told = shared_progress();
        const ending end = run_process([&] {
            endless.work(folder / "state", {[&] { kill_point(log_append).arm(first); }, *told});
        });
        REQUIRE(end.killed);
        for (std::uint64_t n = 0;; ++n) {
            const ending recovered = run_process([&] {
                kill_point(rollback_copy).arm(n * n / 4);
                const database db(folder / "state", quick_options());
            });
            if (!recovered.killed) break;
            ++kills;
        }
        INFO("killed at before-image " << first);
        endless.check(folder / "state", *told);
    }
}

TEST_CASE("killed between the words that pop a block, the one below lists its own changes only") {
    kill_trial trial;
    trial.work = [](const fs::path& state, const killed_process& self) {
        database db(state, quick_options());
        db.add_type<item>("item");
        for (const std::uint32_t key : {1U, 2U}) {
            auto block = db.start_session();
            db.create<item>([&](item& made) { made.key = key; });
            block.push();
        }
        self.arm();
        db.undo();
    };
    trial.check = [](const fs::path& state, const progress&) {
        database db(state, quick_options());
        db.add_type<item>("item");
        REQUIRE(db.revision() == 1);
        const auto changes = db.changes(1).of<item>();
        REQUIRE(changes.size() == 1);
        REQUIRE(changes[0].now != nullptr);
        CHECK(changes[0].now->key == 1);
    };
    CHECK(kill_at_each(log_word, trial) >= 5);
}

TEST_CASE("popping all blocks, killed at every copy, goes back block by block") {
    const auto prepare = [](chain_model& chain) {
        for (std::uint64_t step = 0; step < 25 || chain.state().depth() < 5; ++step)
            chain.apply(step);
    };
    std::uint64_t kills = 0;
    for (std::uint64_t seed = test_seed(13); kills <= 30; ++seed) {
        // The expected state at each revision that the chain can return to.
        std::map<revision_number, std::uint64_t> by_revision;
        {
            const scratch_folder folder;
            chain_model chain(folder / "state", seed);
            prepare(chain);
            world& w = chain.state();
            by_revision[w.db().revision()] = digest_of(w.db());
            while (w.depth() > 0) {
                w.undo();
                by_revision[w.db().revision()] = digest_of(w.db());
            }
        }
        kill_trial trial;
        trial.work = [&](const fs::path& state, const killed_process& self) {
            chain_model chain(state, seed);
            prepare(chain);
            self.arm();
            chain.state().db().undo_all();
        };
        trial.check = [&](const fs::path& state, const progress&) {
            const world left(state, {.verify = false});
            const database& db = left.db();
            INFO("seed " << seed << ", revision " << db.revision());
            REQUIRE(by_revision.contains(db.revision()));
            CHECK(digest_of(db) == by_revision[db.revision()]);
            CHECK_NOTHROW(check_keys_of(db));
        };
        const auto next = [](std::uint64_t n) { return n + 1 + n / 20; };
        const std::uint64_t in_this_chain = kill_at_each(rollback_copy, trial, 0, next);
        REQUIRE(in_this_chain > 0);
        kills += in_this_chain;
    }
}
