// A process whose blocks fill chunk after chunk of the log is killed, where it moves on to the next
// chunk above all. Opening again brings the state after the last block that was complete.

#include <catch2/catch.hpp>
#include <tests/failure/killed_chain.hpp>
#include <tests/support/failures.hpp>

#include <map>

using namespace chainbase;
using namespace chainbase::test;

namespace {

constexpr std::uint64_t steps = 20;

/// How many chunks a chain takes, at least.
std::uint64_t chunks_wanted() {
    return is_usual_run() ? 3 : 1;
}

/// 2000 objects, and some 1500 modifications per block.
const chain_options large{
    .changes = {.objects = 334, .spread = 10, .interrupts = 5, .modifies = 850},
    .transactions = 9,
    .operations = 900};

std::uint64_t points_in_chain(std::uint64_t seed, fault::point at) {
    const scratch_folder folder;
    chain_model chain(folder / "state", seed, large);
    count_points(at);
    for (std::uint64_t step = 0; step < steps; ++step)
        chain.apply(step);
    fault::hook = nullptr;
    return points_counted();
}

void kill_and_check(std::uint64_t seed, reference_chain& reference, fault::point at,
                    std::uint64_t n) {
    const scratch_folder folder;
    const auto told = shared_progress();
    const ending end = run_process([&] {
        chain_model chain(folder / "state", seed, large);
        kill_at_nth(at, n);
        apply_steps(chain, 0, steps, *told);
    });
    REQUIRE(end.killed);
    INFO("seed " << seed << ", killed at point " << n << ", in step " << told->begun);
    CHECK_NOTHROW(check_state_left(folder / "state", reference, *told));
}

} // namespace

TEST_CASE("killed each time the log moves on to another chunk") {
    const std::uint64_t seed = test_seed(31);
    reference_chain reference(seed, large);
    const std::uint64_t points = points_in_chain(seed, fault::point::chunk);
    REQUIRE(points >= chunks_wanted());
    for (std::uint64_t n = 0; n < points; ++n)
        kill_and_check(seed, reference, fault::point::chunk, n);
}

TEST_CASE("killed each time a file grows under a chain of large blocks") {
    const std::uint64_t seed = test_seed(32);
    reference_chain reference(seed, large);
    const std::uint64_t points = points_in_chain(seed, fault::point::growth);
    REQUIRE(points >= 1);
    for (std::uint64_t n = 0; n < points; ++n)
        kill_and_check(seed, reference, fault::point::growth, n);
}

TEST_CASE("killed at before-images all along a chain of large blocks") {
    const std::uint64_t seed = test_seed(33);
    reference_chain reference(seed, large);
    REQUIRE(points_in_chain(seed, fault::point::chunk) >= chunks_wanted());
    const std::uint64_t points = points_in_chain(seed, fault::point::log_append);
    for (std::uint64_t i = 0; i < 60; ++i)
        kill_and_check(seed, reference, fault::point::log_append, points * i / 60 + i % 7);
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
        while (w.db().memory().log()->bytes_in_use() < 3 * undo_log::chunk_bytes) {
            w.start();
            for (int i = 0; i < 1500; ++i)
                w.change_plainly(random);
            w.push();
            at.emplace(w.db().revision(), w.take_snapshot());
        }
    }
    REQUIRE(at.size() > 5);
    {
        world w(folder / "state", {.verify = false}); // opening again walks the chunks
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
