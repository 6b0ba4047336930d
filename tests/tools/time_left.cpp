#include <tools/driver/log_progress.hpp>

#include <catch2/catch.hpp>

#include <cmath>
#include <vector>

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

TEST_CASE("an even rate gives what is left at this rate, and the margin shrinks") {
    time_left estimate;
    for (int i = 0; i <= 300; ++i)
        estimate.note(i * 0.1, static_cast<std::uint64_t>(i) * 10);
    const auto range = estimate.range(1000);
    REQUIRE(range);
    CHECK(range->first == Approx(10));
    CHECK(chainbase::driver::in_words(*range) == "10 s to 13 s left");
    CHECK(range->second == Approx(10 * (1 + 1000. / 4000)));
    const auto nearly_done = estimate.range(1);
    REQUIRE(nearly_done);
    CHECK(nearly_done->second == Approx(nearly_done->first).epsilon(0.01));
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
    CHECK(range->second == Approx(10 * 1.05).epsilon(0.05));  // of late
}

TEST_CASE("while nothing moves there is no upper end, and when it goes on there is one again") {
    time_left estimate;
    for (int i = 0; i <= 100; ++i)
        estimate.note(i * 0.1, static_cast<std::uint64_t>(i) * 100);
    const auto moving = estimate.range(1000);
    for (int i = 101; i <= 205; ++i)
        estimate.note(i * 0.1, 10'000);
    const auto still = estimate.range(1000);
    REQUIRE(still);
    CHECK(still->first >= moving->first);
    CHECK(std::isinf(still->second));
    CHECK(chainbase::driver::in_words(*still) == "at least 2 s left, nothing moves");
    estimate.note(21, 10'100);
    const auto again = estimate.range(1000);
    REQUIRE(again);
    CHECK_FALSE(std::isinf(again->second));
    CHECK(again->second >= still->first);
}

namespace {

struct recorded_sample {
    double seconds;
    std::uint64_t block;
};

/// Replays of a generated log of ten million operations, a line a second: on two processors, and
/// with both threads on one that others used as well. Cash-outs begin after a while and the state
/// grows, so both become slower, the second one to a third of its rate.
const std::vector<recorded_sample> on_two_processors{
    {0.2, 1536},    {1.2, 31383},   {2.2, 48785},  {3.2, 66396},  {4.2, 83096},
    {5.2, 95829},   {6.2, 109480},  {7.3, 122939}, {8.3, 137663}, {9.3, 151851},
    {10.3, 164286}, {11.3, 179010}, {11.4, 181001}};
const std::vector<recorded_sample> on_a_busy_one{
    {0.2, 320},     {1.2, 10345},   {2.3, 19084},   {3.3, 27891},   {4.3, 34165},   {5.3, 41246},
    {6.4, 47124},   {7.4, 52508},   {8.4, 58804},   {9.4, 64696},   {10.5, 70213},  {11.5, 76092},
    {12.5, 82117},  {13.5, 88354},  {14.5, 93667},  {15.6, 99116},  {16.6, 104575}, {17.6, 109689},
    {18.7, 115291}, {19.7, 120645}, {20.7, 126035}, {21.7, 130905}, {22.8, 135706}, {23.8, 139601},
    {24.8, 143521}, {25.9, 147479}, {26.9, 150820}, {27.9, 154047}, {29.0, 157054}, {30.1, 160367},
    {31.1, 163555}, {32.2, 166722}, {33.2, 170118}, {34.3, 173851}, {35.3, 177884}, {36.2, 181001}};

} // namespace

TEST_CASE("in recorded runs the range holds what came, but for little, and never jumps") {
    const auto run = GENERATE(on_two_processors, on_a_busy_one);
    time_left estimate;
    estimate.note(0, 0);
    double longest_before = 0;
    for (const auto& [seconds, block] : run) {
        estimate.note(seconds, block);
        const auto range = estimate.range(run.back().block - block);
        if (seconds < 1) continue;
        REQUIRE(range);
        const double came = run.back().seconds - seconds;
        INFO("at " << seconds << " s: " << range->first << " to " << range->second << ", came "
                   << came);
        CHECK(range->first >= 0);
        CHECK(range->first <= range->second);
        CHECK(range->first <= came + 0.1);
        CHECK(range->second >= 0.8 * came);
        if (longest_before > 0) CHECK(range->second <= 1.5 * longest_before);
        longest_before = range->second;
    }
}
