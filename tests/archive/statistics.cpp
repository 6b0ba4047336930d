// Percentiles against sorted durations; counts from several threads; reading another process's
// statistics.
#include <archive/statistics.hpp>

#include <catch2/catch.hpp>
#include <tests/archive/stores.hpp>
#include <tests/support/child_process.hpp>
#include <tests/support/cost.hpp>
#include <tests/support/lowered_limit.hpp>
#include <tests/support/seeded.hpp>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <thread>
#include <vector>

#include "support.hpp"

using namespace archive_test;
using chainbase::test::file_size_limit;
using chainbase::test::heap_store;
using chainbase::test::print_cost;
using std::chrono::nanoseconds;

namespace {

/// Durations of many magnitudes: of a cache, of a disk, and one of a minute.
std::vector<std::uint64_t> durations(random_source& random, std::size_t count) {
    std::vector<std::uint64_t> all;
    for (std::size_t i = 0; i < count; ++i)
        all.push_back(random.next() >> (28 + random.below(36)));
    return all;
}

struct percentiles {
    std::uint64_t at(double share) const {
        const double rank = std::ceil(share * static_cast<double>(sorted.size()));
        return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
    }
    std::vector<std::uint64_t> sorted;
};

std::filesystem::path private_place(const scratch_folder& scratch) {
    const auto folder = scratch / "archive";
    std::filesystem::create_directory(folder);
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
    return folder;
}

} // namespace

TEST_CASE("every duration is in the bucket that says so, and buckets are 1/32 wide") {
    using histogram = latency_histogram;
    for (std::size_t bucket = 0; bucket < histogram::buckets; ++bucket) {
        const std::uint64_t begin = histogram::begin_of(bucket);
        const std::uint64_t end = histogram::begin_of(bucket + 1);
        REQUIRE(begin < end);
        REQUIRE(histogram::bucket_of(begin) == bucket);
        REQUIRE(histogram::bucket_of(end - 1) == bucket);
        REQUIRE((end - begin) * 32 <= std::max<std::uint64_t>(begin, 32));
    }
    CHECK(histogram::bucket_of(UINT64_MAX) == histogram::buckets - 1);
    CHECK(histogram::begin_of(histogram::buckets) == std::uint64_t{1} << histogram::longest_bits);
}

TEST_CASE_METHOD(seeded, "percentiles are those of the sorted durations, at most 1/32 above") {
    for (const std::size_t count : {1UL, 2UL, 3UL, 100UL, 999UL, 20'000UL}) {
        percentiles exact{durations(random, count)};
        const auto times = std::make_unique<latency_histogram>();
        std::uint64_t total = 0;
        for (const std::uint64_t ns : exact.sorted) {
            times->record(nanoseconds(ns));
            total += ns;
        }
        std::ranges::sort(exact.sorted);
        const latency_reading now = times->read();
        REQUIRE(now.count() == count);
        REQUIRE(now.total_ns() == total);
        REQUIRE(now.longest_ns() == exact.sorted.back());
        for (const double share : {0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0}) {
            CAPTURE(count, share);
            const std::uint64_t wanted = exact.at(share);
            REQUIRE(now.quantile(share) >= wanted);
            REQUIRE(now.quantile(share) <= wanted + wanted / 32);
        }
        REQUIRE(now.quantile(1.0) == exact.sorted.back());
        for (unsigned bit = 0; bit <= 36; ++bit)
            REQUIRE(now.count_below(std::uint64_t{1} << bit) ==
                    static_cast<std::uint64_t>(std::ranges::count_if(
                        exact.sorted, [&](auto ns) { return ns < std::uint64_t{1} << bit; })));
    }
}

TEST_CASE("nothing recorded has no percentiles, and what is longer than all buckets counts") {
    const auto times = std::make_unique<latency_histogram>();
    CHECK(times->read().quantile(0.5) == 0);
    times->record(nanoseconds(-5)); // the clock was set back
    CHECK(times->read().quantile(1.0) == 0);
    CHECK(times->count() == 1);
    const std::int64_t hours = std::int64_t{1} << 43;
    times->record(nanoseconds(hours));
    CHECK(times->read().quantile(1.0) == static_cast<std::uint64_t>(hours));
}

TEST_CASE("lookups of many threads all count, measured or not") {
    trace::clock::calibrate();
    const auto stats = std::make_unique<statistics>();
    constexpr int thread_count = 40; // more threads than cache lines
    constexpr int each = 5000;
    std::vector<std::thread> threads;
    for (int t = 0; t < thread_count; ++t)
        threads.emplace_back([&stats] {
            for (int i = 0; i < each; ++i) {
                const sampled_stopwatch watch;
                stats->found_in_memory(watch);
                stats->record(lookup::miss, nanoseconds(i));
            }
        });
    for (auto& thread : threads)
        thread.join();
    const statistics_summary all = stats->summarized();
    CHECK(all.hits_in_memory.count == thread_count * each);
    CHECK(all.misses.count == thread_count * each);
    CHECK(all.misses.measured == thread_count * each);
    CHECK(all.hits_in_archive.count == 0);
    CHECK(stats->lookups(lookup::hit_in_memory).count() == thread_count * each);
    // 1 in 64, and the first of each thread
    CHECK(all.hits_in_memory.measured >= thread_count * each / 128);
    CHECK(all.hits_in_memory.measured <= thread_count * each / 32);
}

TEST_CASE("what is measured stands for all: the total is estimated") {
    trace::clock::calibrate();
    const auto times = std::make_unique<lookup_times>();
    for (int i = 0; i < 10'000; ++i) {
        const sampled_stopwatch watch;
        times->record(watch);
    }
    const times_summary all = times->summarized();
    const auto measured = static_cast<double>(times->measured().total_ns());
    CHECK(all.count == 10'000);
    CHECK(all.measured < 1000);
    CHECK(static_cast<double>(all.total_ns) ==
          Approx(measured / static_cast<double>(all.measured) * 10'000).epsilon(0.001));
}

TEST_CASE("distances between measured lookups are random") {
    std::vector<int> distances;
    std::thread([&] {
        int since = 0;
        for (int i = 0; i < 64'000; ++i, ++since)
            if (const sampled_stopwatch watch; watch.is_measuring()) {
                distances.push_back(since);
                since = 0;
            }
    }).join();
    CHECK(distances.size() > 800);
    CHECK(distances.size() < 1250);
    std::ranges::sort(distances);
    const auto repeated = std::ranges::unique(distances);
    CHECK(repeated.begin() - distances.begin() > 100); // of 127 possible ones
    CHECK(distances.front() <= 1);
    CHECK(*(repeated.begin() - 1) == 127);
}

TEST_CASE("others see what a process counts while it runs, when it ended and when it was killed") {
    const scratch_folder scratch;
    const auto folder = private_place(scratch);
    CHECK_FALSE(statistics_page::look(folder));
    chainbase::test::staying_process writer([&](auto done) {
        const statistics_page page(folder);
        page->record(lookup::miss, nanoseconds(1000));
        page->record(lookup::miss, nanoseconds(3000));
        page->rows_put.add(17);
        done();
    });
    const auto number = static_cast<std::uint64_t>(writer.number());
    for (const bool is_killed : {false, true}) {
        CAPTURE(is_killed);
        if (is_killed) writer.kill();
        const auto seen = statistics_page::look(folder);
        REQUIRE(seen);
        CHECK(seen->process == number);
        CHECK(seen->opened > 1'700'000'000);
        CHECK(seen->closed == 0);
        CHECK(seen->figures.misses.count == 2);
        CHECK(seen->figures.misses.longest_ns == 3000);
        CHECK(seen->figures.rows_put == 17);
    }
    { // the next one begins at zero and is marked as ended
        const statistics_page page(folder);
        CHECK(statistics_page::look(folder)->figures.misses.count == 0);
        page->failures.add(1);
    }
    const auto ended = statistics_page::look(folder);
    REQUIRE(ended);
    CHECK(ended->process == static_cast<std::uint64_t>(::getpid()));
    CHECK(ended->closed >= ended->opened);
    CHECK(ended->figures.failures == 1);
}

TEST_CASE("who may look at the folder may look at the figures") {
    const scratch_folder scratch;
    const auto folder = private_place(scratch);
    for (const auto& [of_folder, of_file] : {std::pair{0700u, 0600u}, std::pair{0750u, 0640u}}) {
        std::filesystem::permissions(folder, std::filesystem::perms(of_folder));
        const statistics_page page(folder);
        const auto found = std::filesystem::status(folder / "statistics").permissions();
        CHECK(static_cast<unsigned>(found) == of_file);
    }
}

TEST_CASE("a store whose figures cannot be published counts for itself") {
    const scratch_folder scratch;
    const auto folder = private_place(scratch);
    heap_store rows;
    const auto table = rows.open_table("note");
    {
        const file_size_limit small(10'000);
        rows.publish_statistics(folder);
    }
    CHECK_FALSE(statistics_page::look(folder));
    rows.publish_statistics(folder / "nowhere");
    (void)rows.find(table, 1);
    CHECK(rows.stats().lookups(lookup::miss).count() == 1);
    rows.publish_statistics(folder); // from zero
    (void)rows.find(table, 1);
    (void)rows.find(table, 1);
    CHECK(statistics_page::look(folder)->figures.misses.count == 2);
}

TEST_CASE("a file of statistics that is another version's or cut tells nothing") {
    const scratch_folder scratch;
    const auto folder = private_place(scratch);
    {
        const statistics_page page(folder);
    }
    REQUIRE(statistics_page::look(folder));
    const auto file = folder / "statistics";
    const auto size = std::filesystem::file_size(file);
    std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).write("other", 5);
    CHECK_FALSE(statistics_page::look(folder));
    {
        const statistics_page page(folder);
    }
    REQUIRE(statistics_page::look(folder));
    std::filesystem::resize_file(file, size - 1);
    CHECK_FALSE(statistics_page::look(folder));
    std::filesystem::resize_file(file, 0);
    CHECK_FALSE(statistics_page::look(folder));
}

TEST_CASE("who counts goes on when somebody cuts, replaces or deletes the file of another run") {
    const scratch_folder scratch;
    const auto folder = private_place(scratch);
    const statistics_page first(folder);
    const statistics_page second(folder); // replaces the file; the first one's stays mapped
    first->failures.add(5);
    CHECK(statistics_page::look(folder)->figures.failures == 0);
    std::filesystem::remove(folder / "statistics");
    second->failures.add(2);
    CHECK(second->failures == 2);
    CHECK(first->failures == 5);
    CHECK_FALSE(statistics_page::look(folder));
}

TEST_CASE("what counting a lookup costs", "[.][cost]") {
    trace::clock::calibrate();
    const auto stats = std::make_unique<statistics>();
    print_cost("an empty loop", [] {});
    print_cost("recorded", [&] { stats->record(lookup::miss, nanoseconds(700)); });
    print_cost("measured by std::chrono::steady_clock, recorded", [&] {
        const auto begin = std::chrono::steady_clock::now();
        stats->record(lookup::miss, std::chrono::steady_clock::now() - begin);
    });
    print_cost("measured by the clock of traces, recorded", [&] {
        const stopwatch watch;
        stats->record(lookup::miss, watch.elapsed());
    });
    print_cost("sampled", [&] {
        const sampled_stopwatch watch;
        stats->found_in_memory(watch);
    });
}
