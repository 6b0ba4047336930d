// Durations land in the bucket of their power of two, and nothing is lost between threads.
#include <archive/statistics.hpp>

#include <catch2/catch.hpp>

#include <thread>
#include <vector>

using namespace chainbase::archive;
using std::chrono::nanoseconds;

TEST_CASE("a bucket holds one power of two") {
    CHECK(latency_histogram::bucket_of(0) == 0);
    CHECK(latency_histogram::bucket_of(1) == 0);
    for (std::size_t bucket = 1; bucket < latency_histogram::buckets - 1; ++bucket) {
        CHECK(latency_histogram::bucket_of(std::uint64_t{1} << bucket) == bucket);
        CHECK(latency_histogram::bucket_of((std::uint64_t{2} << bucket) - 1) == bucket);
    }
    CHECK(latency_histogram::bucket_of(UINT64_MAX) == latency_histogram::buckets - 1);
}

TEST_CASE("a quantile is the end of the bucket it falls into") {
    latency_histogram histogram;
    CHECK(histogram.quantile(0.5) == 0);
    for (int i = 0; i < 99; ++i)
        histogram.record(nanoseconds(100));
    histogram.record(nanoseconds(5000));
    CHECK(histogram.quantile(0.5) == 128);
    CHECK(histogram.quantile(0.99) == 128);
    CHECK(histogram.quantile(1.0) == 8192);
    CHECK(histogram.count() == 100);
    CHECK(histogram.total_ns() == 99 * 100 + 5000);
}

TEST_CASE("records of several threads all count") {
    statistics stats;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&stats] {
            for (int i = 0; i < 10000; ++i)
                stats.record(lookup::hit_in_memory, nanoseconds(i));
        });
    for (auto& thread : threads)
        thread.join();
    CHECK(stats.lookups(lookup::hit_in_memory).count() == 40000);
    CHECK(stats.lookups(lookup::miss).count() == 0);
}
