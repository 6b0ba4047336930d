// A process that applies blocks is killed, at every point where the log grows and at random times.
// Opening again brings the state after the last block that was complete.

#include <catch2/catch.hpp>
#include <tests/failure/killed_chain.hpp>
#include <tests/support/failures.hpp>
#include <unistd.h>

#include <csignal>

using namespace chainbase;
using namespace chainbase::test;

namespace {

constexpr std::uint64_t steps = 40;

/// How often the chain of `seed` reaches `at` in its first `steps`.
std::uint64_t points_in_chain(std::uint64_t seed, fault::point at) {
    const scratch_folder folder;
    chain_model chain(folder / "state", seed);
    count_points(at);
    for (std::uint64_t step = 0; step < steps; ++step)
        chain.apply(step);
    fault::hook = nullptr;
    return points_counted();
}

/// Kills a chain at the n-th time it reaches `at`. Returns whether it came that far.
bool kill_and_check(std::uint64_t seed, reference_chain& reference, fault::point at,
                    std::uint64_t n) {
    const scratch_folder folder;
    const auto told = shared_progress();
    const ending end = run_process([&] {
        chain_model chain(folder / "state", seed);
        kill_at_nth(at, n);
        apply_steps(chain, 0, steps, *told);
    });
    if (!end.killed) return false;
    INFO("seed " << seed << ", killed at point " << n << ", in step " << told->begun);
    CHECK_NOTHROW(check_state_left(folder / "state", reference, *told));
    return true;
}

} // namespace

TEST_CASE("killed at the first, second, third ... before-image") {
    const std::uint64_t seed = test_seed(1);
    reference_chain reference(seed);
    for (std::uint64_t n = 0; n < 100; ++n)
        REQUIRE(kill_and_check(seed, reference, fault::point::log_append, n));
}

TEST_CASE("killed at before-images all along the chain") {
    const std::uint64_t seed = test_seed(2);
    reference_chain reference(seed);
    const std::uint64_t points = points_in_chain(seed, fault::point::log_append);
    REQUIRE(points > (is_usual_run() ? 1000 : 100));
    for (std::uint64_t i = 0; i < 200; ++i)
        REQUIRE(
            kill_and_check(seed, reference, fault::point::log_append, points * i / 200 + i % 7));
}

TEST_CASE("killed between the words that start, push, squash, undo and commit sessions") {
    const std::uint64_t seed = test_seed(6);
    reference_chain reference(seed);
    const std::uint64_t points = points_in_chain(seed, fault::point::log_word);
    REQUIRE(points > (is_usual_run() ? 300 : 100));
    for (std::uint64_t n = 0; n < points; n += 1 + (n > 250 ? n % 4 : 0))
        REQUIRE(kill_and_check(seed, reference, fault::point::log_word, n));
}

TEST_CASE("killed at random times") {
    const std::uint64_t seed = test_seed(3);
    reference_chain reference(seed);
    random_source random(seed);
    for (int round = 0; round < 150; ++round) {
        const scratch_folder folder;
        const auto told = shared_progress();
        const pid_t process = fork_process([&] {
            chain_model chain(folder / "state", seed);
            told->ready = 1;
            apply_steps(chain, 0, UINT64_MAX, *told);
        });
        wait_until_ready(process, *told);
        usleep(random.below(8000));
        ::kill(process, SIGKILL);
        REQUIRE(wait_for(process).killed);
        INFO("seed " << seed << ", round " << round << ", in step " << told->begun);
        CHECK_NOTHROW(check_state_left(folder / "state", reference, *told));
    }
}

TEST_CASE("killed at each growth of a file while the state and its types are made") {
    random_source random(test_seed(4));
    int kills = 0;
    for (std::uint64_t n = 0;; ++n) {
        const scratch_folder folder;
        const ending end = run_process([&] {
            kill_at_nth(fault::point::growth, n);
            const world made(folder / "state", {.verify = false});
        });
        INFO("killed at growth " << n);
        world w(folder / "state");
        for (int i = 0; i < 50; ++i)
            w.change_plainly(random);
        w.check(random);
        if (!end.killed) break;
        ++kills;
    }
    CHECK(kills > 20);
}

TEST_CASE("killed at random times while the state and its types are made") {
    random_source random(test_seed(4));
    int kills = 0;
    for (int round = 0; round < 60; ++round) {
        const scratch_folder folder;
        const auto told = shared_progress();
        const pid_t process = fork_process([&] {
            told->ready = 1;
            const world made(folder / "state", {.verify = false});
            pause();
        });
        wait_until_ready(process, *told);
        usleep(random.below(6000));
        ::kill(process, SIGKILL);
        if (wait_for(process).killed) ++kills;
        world w(folder / "state");
        for (int i = 0; i < 50; ++i)
            w.change_plainly(random);
        w.check(random);
    }
    CHECK(kills == 60);
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
    while (at < 400) {
        const ending end = run_process([&] {
            chain_model chain(folder / "state", seed);
            kill_at_nth(fault::point::log_append, random.below(4000));
            apply_steps(chain, at, 400, *told);
        });
        if (end.killed) ++kills;
        (void)random.next();
        at = check_state_left(folder / "state", reference, *told, afterwards::keep);
        told->done = told->begun = at;
    }
    if (is_usual_run()) CHECK(kills > 10);
}
