// What stands on /metrics beside the trace, and how lookups of an archive are told there.

#include <archive/open_archive.hpp>
#include <archive/statistics.hpp>
#include <tools/driver/chain_gauges.hpp>
#include <tools/driver/observation.hpp>

#include <catch2/catch.hpp>
#include <tests/archive/stores.hpp>
#include <tests/trace/exposition.hpp>
#include <tests/trace/found.hpp>
#include <tests/trace/http_client.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

using namespace chainbase;
using namespace chainbase::test;
using driver::metrics_source;
using std::chrono::nanoseconds;

TEST_CASE("the page has what the source made last says and nothing of one that is gone") {
    CHECK(metrics_source::page().empty());
    std::optional<metrics_source> first([] { return std::string("first\n"); });
    CHECK(metrics_source::page() == "first\n");
    {
        const metrics_source second([] { return std::string("second\n"); });
        CHECK(metrics_source::page() == "second\n");
        first.reset();
        CHECK(metrics_source::page() == "second\n");
    }
    CHECK(metrics_source::page().empty());
}

TEST_CASE("a source goes only when nobody is asking it") {
    std::atomic<int> alive{1};
    std::atomic<bool> is_asked{false};
    std::atomic<bool> is_gone_while_asked{false};
    std::optional<metrics_source> source([&] {
        is_asked = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        if (alive == 0) is_gone_while_asked = true;
        return std::string();
    });
    std::thread server([] { (void)metrics_source::page(); });
    while (!is_asked)
        std::this_thread::yield();
    source.reset();
    alive = 0;
    server.join();
    CHECK_FALSE(is_gone_while_asked);
}

TEST_CASE("the buckets of lookups rise to their count and are in seconds") {
    const auto figures = std::make_unique<archive::statistics>();
    for (const std::int64_t ns : {40, 100, 300, 5'000'000})
        figures->record(archive::lookup::miss, nanoseconds(ns));
    figures->record(archive::lookup::hit_in_archive, nanoseconds(1'000'000'000));
    const exposition page(driver::archive_metrics_text(*figures));
    const auto value = [&](const std::string& name) {
        return page.values.at("chainbase_archive_lookup_seconds" + name);
    };
    CHECK(page.types.at("chainbase_archive_lookup_seconds") == "histogram");
    CHECK(value("_bucket{outcome=\"miss\",le=\"6.4e-08\"}") == 1);
    CHECK(value("_bucket{outcome=\"miss\",le=\"2.56e-07\"}") == 2);
    CHECK(value("_bucket{outcome=\"miss\",le=\"1.024e-06\"}") == 3);
    CHECK(value("_bucket{outcome=\"miss\",le=\"+Inf\"}") == 4);
    CHECK(value("_count{outcome=\"miss\"}") == 4);
    CHECK(value("_sum{outcome=\"miss\"}") == Approx(0.00500044));
    CHECK(value("_sum{outcome=\"hit_in_archive\"}") == 1);
    CHECK(value("_count{outcome=\"hit_in_memory\"}") == 0);
}

TEST_CASE("what is shown in the trace is added up once however often it is shown") {
    const tracing on;
    heap_store rows;
    const auto table = rows.open_table("note");
    driver::archive_gauges gauges;
    gauges.show(rows);
    const std::uint64_t before = counter_called("archive.misses");
    const std::uint64_t put = counter_called("archive.rows");
    for (int times = 1; times <= 3; ++times) {
        (void)rows.find(table, 7);
        archive::write_batch batch;
        batch.put(table, static_cast<std::uint32_t>(10 + times), {});
        rows.write(batch);
        gauges.show(rows);
        gauges.show(rows);
        CHECK(counter_called("archive.misses") == before + static_cast<std::uint64_t>(times));
        CHECK(counter_called("archive.rows") == put + static_cast<std::uint64_t>(times));
    }
}
