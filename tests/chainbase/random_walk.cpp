#include <catch2/catch.hpp>
#include <tests/support/operation_sequence.hpp>
#include <tests/support/world.hpp>

#include <algorithm>
#include <string>

using namespace chainbase::test;

namespace {

/// Walks `operations` random steps in a new state, comparing the database with the model.
void walk(std::uint64_t seed, std::uint64_t operations, walk_options options) {
    check_random_operations(seed, operations, [&](operation_sequence& steps) {
        const scratch_folder folder;
        options.changes.tell = steps.tell();
        world w(folder / "state", options);
        random_source random(seed);
        while (steps.next(random))
            w.step(random);
        w.check(random);
        w.undo_all();
        w.check(random);
        if (steps.played() < operations) return; // a shrunk part of a failing sequence
        WARN("seed " << seed << ": " << steps.played() << " steps, " << w.peak()
                     << " objects of a type, " << w.refusals() << " refused, " << w.undone()
                     << " sessions undone");
        if (operations >= 150 * options.changes.objects) CHECK(w.peak() >= options.changes.objects);
    });
}

/// Walks of at most `longest` steps, from one seed and its successors: the cost of comparing a
/// state grows with the ids it has assigned.
void walks(std::uint64_t seed, std::uint64_t operations, std::uint64_t longest,
           const walk_options& options) {
    for (; operations > 0; ++seed) {
        const std::uint64_t steps = std::min(operations, longest);
        walk(seed, steps, options);
        operations -= steps;
    }
}

} // namespace

TEST_CASE("a random walk over a handful of objects agrees with the model") {
    walks(test_seed(1), test_operations(500'000), 100'000,
          {.changes = {.objects = 5}, .deep_every = 400, .max_depth = 5});
}

TEST_CASE("a random walk with hardly a failure agrees with the model") {
    walks(test_seed(50), test_operations(500'000), 100'000,
          {.changes = {.objects = 6, .spread = 200, .interrupts = 5},
           .deep_every = 400,
           .max_depth = 5});
}

TEST_CASE("a random walk over dozens of objects agrees with the model") {
    walks(test_seed(100), test_operations(400'000), 200'000,
          {.changes = {.objects = 40},
           .deep_every = 2000,
           .undos_per_check = 4,
           .refusals_watched = 50,
           .max_depth = 6});
}

TEST_CASE("a random walk over hundreds of objects agrees with the model") {
    walks(test_seed(200), test_operations(200'000), 100'000,
          {.changes = {.objects = 300, .spread = 10, .interrupts = 20},
           .deep_every = 20'000,
           .undos_per_check = 16,
           .refusals_watched = 20,
           .max_depth = 4});
}

TEST_CASE("a random walk in which hash tables grow under sessions agrees with the model") {
    walks(test_seed(250), test_operations(200'000), 100'000,
          {.changes = {.objects = 600, .spread = 10, .interrupts = 10},
           .deep_every = 20'000,
           .undos_per_check = 16,
           .refusals_watched = 10,
           .max_depth = 4});
}

TEST_CASE("a random walk through deeply nested sessions agrees with the model") {
    walks(test_seed(300), test_operations(200'000), 200'000,
          {.changes = {.objects = 12, .spread = 20}, .deep_every = 1000, .max_depth = 30});
}

TEST_CASE("a random walk that nobody went before agrees with the model") {
    const std::uint64_t seed = new_seed();
    random_source random(seed);
    walks(seed, test_operations(200'000), 100'000,
          {.changes = {.objects = 5 + random.below(60),
                       .spread = 4 + random.below(30),
                       .interrupts = random.below(60)},
           .deep_every = 2000,
           .undos_per_check = 4,
           .refusals_watched = 50,
           .max_depth = 2 + random.below(12)});
}
