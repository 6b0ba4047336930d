#include <tools/driver/time_left.hpp>

#include <catch2/catch.hpp>

/// The range for the time that is left.
using chainbase::driver::time_left;

TEST_CASE("before there is enough to tell from, nothing is told") {
    time_left estimate;
    CHECK_FALSE(estimate.range(100));
    estimate.note(0, 0);
    estimate.note(0.4, 1000);
    CHECK_FALSE(estimate.range(100));
    estimate.note(0.6, 1000);
    CHECK(estimate.range(100));
}

TEST_CASE("without progress nothing is told, and nothing is ever negative") {
    time_left estimate;
    for (int i = 0; i < 100; ++i)
        estimate.note(i, 0);
    CHECK_FALSE(estimate.range(100));
    estimate.note(100, 50);
    const auto range = estimate.range(0);
    REQUIRE(range);
    CHECK(range->first == 0);
    CHECK(range->second == 0);
}

TEST_CASE("an even rate gives one number") {
    time_left estimate;
    for (int i = 0; i <= 300; ++i)
        estimate.note(i * 0.1, static_cast<std::uint64_t>(i) * 10);
    const auto range = estimate.range(1000);
    REQUIRE(range);
    CHECK(range->first == Approx(10));
    CHECK(range->second == Approx(10));
}

TEST_CASE("a rate that falls gives a range from the fastest to the slowest") {
    time_left estimate;
    std::uint64_t done = 0;
    for (int i = 0; i <= 300; ++i) {
        estimate.note(i * 0.1, done);
        done += i < 200 ? 100 : 10; // 1000 a second, then 100
    }
    const auto range = estimate.range(1000);
    REQUIRE(range);
    CHECK(range->first == Approx(1000 / 700.).epsilon(0.05)); // over all
    CHECK(range->second == Approx(10).epsilon(0.05));         // of late
}
