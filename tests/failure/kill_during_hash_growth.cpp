// A process is killed in a session in which hash tables grow. Opening again brings the smaller
// tables back, byte for byte.

#include <catch2/catch.hpp>
#include <tests/chainbase/small_types.hpp>
#include <tests/failure/killed_chain.hpp>
#include <tests/support/failures.hpp>

#include <optional>

using namespace chainbase;
using namespace chainbase::test;

namespace {

void add_range(database& db, std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t k = from; k < to; ++k)
        db.create<card>([&](card& c) { c.key = c.group = k; });
}

/// Grows the tables twice in a session, and once more in an inner one.
void grow(database& db) {
    auto outer = db.start_session();
    add_range(db, 300, 900);
    auto inner = db.start_session();
    add_range(db, 900, 1800);
    inner.squash();
    outer.push();
}

std::uint64_t points_of(fault::point at) {
    const scratch_folder folder;
    database db(folder / "state", quick_options());
    db.add_type<card>("card");
    add_range(db, 0, 300);
    count_points(at);
    grow(db);
    fault::hook = nullptr;
    return points_counted();
}

/// Kills the growth at the n-th `at` and compares what opening finds.
void kill_and_compare(fault::point at, std::uint64_t n) {
    INFO("killed at point " << n);
    const scratch_folder folder;
    const auto state = folder / "state";
    std::optional<snapshot> before;
    {
        database db(state, quick_options());
        db.add_type<card>("card");
        add_range(db, 0, 300);
        before.emplace(db.memory());
    }
    const ending end = run_process([&] {
        database db(state, quick_options());
        db.add_type<card>("card");
        kill_at_nth(at, n);
        grow(db);
    });
    REQUIRE(end.killed);
    database db(state, quick_options());
    db.add_type<card>("card");
    REQUIRE(db.count<card>() == 300);
    CHECK(snapshot(db.memory()) == *before);
    for (std::uint32_t k = 0; k < 300; ++k)
        if (!db.find<card, by_key>(k)) FAIL("key " << k);
    grow(db);
    for (std::uint32_t k = 0; k < 1800; ++k)
        if (!db.find<card, by_key>(k)) FAIL("key " << k << " after growing again");
    db.undo_all();
    CHECK(snapshot(db.memory()) == *before);
}

} // namespace

TEST_CASE("killed at each growth of a file while hash tables grow") {
    const std::uint64_t points = points_of(fault::point::growth);
    REQUIRE(points >= 4);
    for (std::uint64_t n = 0; n < points; ++n)
        kill_and_compare(fault::point::growth, n);
}

TEST_CASE("killed at before-images all along the growth of hash tables") {
    const std::uint64_t points = points_of(fault::point::log_append);
    REQUIRE(points > 2000);
    for (std::uint64_t i = 0; i < 60; ++i)
        kill_and_compare(fault::point::log_append, points * i / 60 + i % 5);
}
