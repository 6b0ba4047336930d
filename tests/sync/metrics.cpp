/// The metrics page in process: who makes it while threads ask for it, and what an archive's
/// lookups become on it. As a program tells it: tests/programs/test_driver_observation.py.

#include <archive/open_archive.hpp>
#include <archive/statistics.hpp>
#include <archive/store.hpp>
#include <chainbase/database.hpp>
#include <tools/driver/chain_gauges.hpp>
#include <tools/driver/memory_metrics.hpp>
#include <tools/driver/observation.hpp>

#include <catch2/catch.hpp>
#include <tests/support/temporary_folder.hpp>
#include <tests/sync/raw_connection.hpp>
#include <tests/trace/found.hpp>

#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Contains;
using driver::metrics_server;
using driver::metrics_source;
using std::chrono::milliseconds;

namespace {

std::string get(std::uint16_t port) {
    const auto client = raw_connection::to(port);
    client.send(std::as_bytes(
        std::span(std::string_view("GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n"))));
    return client.rest();
}

} // namespace

TEST_CASE(
    "a page that throws is an error of that request only, and a server ends with its clients") {
    std::atomic<bool> fails{true};
    auto server = std::make_unique<metrics_server>(listen_address(), [&] {
        if (fails) throw std::runtime_error("no numbers");
        return std::string("numbers\n");
    });
    CHECK_THAT(get(server->port()), Catch::StartsWith("HTTP/1.1 500 "));
    fails = false;
    CHECK_THAT(get(server->port()), Catch::EndsWith("\r\n\r\nnumbers\n"));
    const auto open = raw_connection::to(server->port());
    server.reset();
    CHECK(open.rest().empty());
}

TEST_CASE("clients that say nothing keep nobody from the metrics, from one address or from many") {
    const metrics_server server(listen_address(), [] { return std::string("numbers\n"); });
    const bool is_one_address = GENERATE(true, false);
    std::vector<raw_connection> silent;
    for (unsigned i = 0; i < 200; ++i)
        silent.push_back(raw_connection::to(server.port(), is_one_address ? 1 : 2 + i % 20));
    CHECK_THAT(get(server.port()), Catch::EndsWith("\r\n\r\nnumbers\n"));
}

TEST_CASE("many threads get the page of the source made last, and nothing of one that is gone") {
    const metrics_server server(listen_address(), metrics_source::page);
    CHECK(metrics_source::page().empty());
    std::optional<metrics_source> first([] { return std::string("first\n"); });
    CHECK_THAT(get(server.port()), Contains("first\n"));
    std::atomic<bool> stop{false};
    std::atomic<int> torn{0};
    std::vector<std::thread> clients;
    for (int t = 0; t < 4; ++t)
        clients.emplace_back([&] {
            while (!stop) {
                const std::string answer = get(server.port());
                if (!answer.ends_with("\r\n\r\nfirst\n") && !answer.ends_with("\r\n\r\nsecond\n"))
                    ++torn;
            }
        });
    for (int i = 0; i < 100; ++i) {
        const metrics_source second([] { return std::string("second\n"); });
        if (i == 50) first.emplace([] { return std::string("first\n"); });
        std::this_thread::sleep_for(milliseconds(1));
    }
    stop = true;
    for (std::thread& one : clients)
        one.join();
    CHECK(torn == 0);
    {
        const metrics_source second([] { return std::string("second\n"); });
        first.reset();
        CHECK(metrics_source::page() == "second\n");
    }
    CHECK(metrics_source::page().empty());
}

TEST_CASE("a source goes only when nobody is asking it") {
    std::atomic<bool> is_alive{true};
    std::atomic<bool> is_asked{false};
    std::atomic<bool> is_gone_while_asked{false};
    std::optional<metrics_source> source([&] {
        is_asked = true;
        std::this_thread::sleep_for(milliseconds(20));
        if (!is_alive) is_gone_while_asked = true;
        return std::string();
    });
    std::thread server([] { (void)metrics_source::page(); });
    while (!is_asked)
        std::this_thread::yield();
    source.reset();
    is_alive = false;
    server.join();
    CHECK_FALSE(is_gone_while_asked);
}

TEST_CASE("the buckets of lookups rise to their count and are in seconds") {
    const auto figures = std::make_unique<archive::statistics>();
    for (const std::int64_t ns : {40, 100, 300, 5'000'000})
        figures->record(archive::lookup::miss, std::chrono::nanoseconds(ns));
    figures->record(archive::lookup::hit_in_archive, std::chrono::seconds(1));
    const std::string page = driver::archive_metrics_text(*figures);
    for (const char* line :
         {"_bucket{outcome=\"miss\",le=\"6.4e-08\"} 1\n",
          "_bucket{outcome=\"miss\",le=\"2.56e-07\"} 2\n",
          "_bucket{outcome=\"miss\",le=\"1.024e-06\"} 3\n",
          "_bucket{outcome=\"miss\",le=\"+Inf\"} 4\n", "_count{outcome=\"miss\"} 4\n",
          "_sum{outcome=\"miss\"} 0.005000440\n", "_sum{outcome=\"hit_in_archive\"} 1.000000000\n",
          "_count{outcome=\"hit_in_memory\"} 0\n"})
        CHECK_THAT(page, Contains(std::string("chainbase_archive_lookup_seconds") + line));
}

TEST_CASE("what is shown in the trace is added up once however often it is shown") {
    const tracing on;
    const temporary_folder folder;
    const auto rows = archive::open_store(folder / "archive");
    const auto table = rows->open_table("note");
    driver::archive_gauges gauges;
    gauges.show(*rows);
    const std::uint64_t before = counter_called("archive.misses");
    const std::uint64_t put = counter_called("archive.rows");
    for (std::uint32_t times = 1; times <= 3; ++times) {
        (void)rows->find(table, 7);
        archive::write_batch batch;
        batch.put(table, 10 + times, {});
        rows->write(batch);
        gauges.show(*rows);
        gauges.show(*rows);
        CHECK(counter_called("archive.misses") == before + times);
        CHECK(counter_called("archive.rows") == put + times);
    }
}

TEST_CASE("tracing is on while something is watched, and off again") {
    CHECK_FALSE(trace::enabled());
    const driver::observation nothing({});
    CHECK_FALSE(trace::enabled());
    CHECK(nothing.metrics_address().empty());
    driver::observation_options how;
    how.metrics = ":0";
    {
        const driver::observation watched(how);
        CHECK(trace::enabled());
        CHECK_THAT(watched.metrics_address(), Catch::StartsWith("127.0.0.1:"));
    }
    CHECK_FALSE(trace::enabled());
}

TEST_CASE("however often the metrics are asked for, the kernel is asked what is in memory seldom") {
    const temporary_folder folder;
    database state(folder / "state", {});
    driver::memory_metrics metrics(state.memory());
    const auto resident = [&] {
        const std::string text = metrics.text();
        const std::string name = "\nchainbase_segment_buffers_resident_bytes ";
        const std::size_t at = text.find(name);
        REQUIRE(at != std::string::npos);
        return text.substr(at, text.find('\n', at + 1) - at);
    };
    std::ofstream file(state.segment_folder() + "/buffers.runs", std::ios::app | std::ios::binary);
    int kept = 0;
    for (int times = 0; kept == 0 && times < 1000; ++times) {
        const std::string before = resident();
        file << std::string(4096, 'x') << std::flush;
        if (resident() == before) ++kept;
    }
    CHECK(kept == 1);
    state.abandon();
}
