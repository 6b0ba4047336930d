#include <catch2/catch.hpp>
#include <tests/support/world.hpp>

#include <string>

using namespace chainbase::test;

namespace {

/// Walks `operations` random steps and compares the database with the model all along.
void walk(std::uint64_t seed, std::uint64_t operations, const walk_options& options) {
    const scratch_folder folder;
    world w(folder / "state", options);
    random_source random(seed);
    std::uint64_t done = 0;
    try {
        for (; done < operations; ++done)
            w.step(random);
        w.check(random);
        w.undo_all();
        w.check(random);
    } catch (const std::exception& e) {
        FAIL("seed " << seed << ", step " << done << ": " << e.what()
                     << "\nrun again with CHAINBASE_TEST_SEED=" << seed);
    }
    WARN("seed " << seed << ": " << done << " steps, " << w.refusals() << " refused, " << w.undone()
                 << " sessions undone");
}

} // namespace

TEST_CASE("a random walk over a handful of objects agrees with the model") {
    const std::uint64_t seed = test_seed(1);
    for (std::uint64_t i = 0; i < 5; ++i)
        walk(seed + i, test_operations(200'000),
             {.changes = {.objects = 5}, .deep_every = 400, .max_depth = 5});
}

TEST_CASE("a random walk with hardly a failure agrees with the model") {
    const std::uint64_t seed = test_seed(50);
    for (std::uint64_t i = 0; i < 5; ++i)
        walk(seed + i, test_operations(200'000),
             {.changes = {.objects = 6, .spread = 200, .interrupts = 5},
              .deep_every = 400,
              .max_depth = 5});
}

TEST_CASE("a random walk over dozens of objects agrees with the model") {
    walk(test_seed(100), test_operations(400'000),
         {.changes = {.objects = 40}, .deep_every = 1000, .max_depth = 6});
}

TEST_CASE("a random walk over hundreds of objects agrees with the model") {
    walk(test_seed(200), test_operations(200'000),
         {.changes = {.objects = 300, .spread = 10, .interrupts = 20},
          .deep_every = 20'000,
          .max_depth = 4});
}

TEST_CASE("a random walk through deeply nested sessions agrees with the model") {
    walk(test_seed(300), test_operations(200'000),
         {.changes = {.objects = 12, .spread = 20}, .deep_every = 1000, .max_depth = 30});
}
