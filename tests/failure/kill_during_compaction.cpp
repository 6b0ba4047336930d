// A process is killed while it moves objects together. Every object is still there, under every
// key.

#include <catch2/catch.hpp>
#include <tests/failure/killed_chain.hpp>
#include <tests/support/failures.hpp>

using namespace chainbase;
using namespace chainbase::test;

TEST_CASE("killed while compacting, no object is lost") {
    const std::uint64_t seed = test_seed(21);
    const auto fill = [&](world& w) {
        random_source random(seed);
        for (int i = 0; i < 6000; ++i)
            w.change_plainly(random);
    };
    const scratch_folder folder;
    std::uint64_t wanted = 0;
    std::uint64_t points = 0;
    {
        world w(folder / "reference", {.changes = {.objects = 150}, .verify = false});
        fill(w);
        wanted = digest_of(w.db());
        count_points(fault::point::log_append);
        w.db().compact();
        fault::hook = nullptr;
        points = points_counted();
        CHECK(digest_of(w.db()) == wanted);
        CHECK(w.peak() >= 150);
    }
    REQUIRE(points > (is_usual_run() ? 300 : 40));
    for (std::uint64_t i = 0; i < 40; ++i) {
        const auto state = folder / std::to_string(i);
        const ending end = run_process([&] {
            world w(state, {.changes = {.objects = 150}, .verify = false});
            fill(w);
            kill_at_nth(fault::point::log_append, points * i / 40);
            w.db().compact();
        });
        REQUIRE(end.killed);
        INFO("killed at before-image " << points * i / 40 << " of " << points);
        world left(state, {.changes = {.objects = 150}});
        CHECK(digest_of(left.db()) == wanted);
        CHECK_NOTHROW(check_keys_of(left.db()));
        random_source random(i);
        for (int k = 0; k < 300; ++k)
            left.change_plainly(random);
        CHECK_NOTHROW(left.check(random));
        CHECK_NOTHROW(left.compact());
        std::filesystem::remove_all(state);
    }
}
