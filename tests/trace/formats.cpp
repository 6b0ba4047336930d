// Every reporter's output, parsed: Perfetto's trace and Prometheus' page.

#include <chainbase/trace/perfetto_file.hpp>
#include <chainbase/trace/prometheus_text.hpp>
#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <pthread.h>
#include <sys/wait.h>
#include <tests/support/lowered_limit.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/state_files.hpp>
#include <tests/trace/exposition.hpp>
#include <tests/trace/found.hpp>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>

using namespace chainbase;
using namespace chainbase::test;
using nlohmann::json;

// The file of single spans: what is in it, that it stays valid whatever ends it, and that it ends
// where it should.

namespace {

const trace::site place("test.file");
const trace::site inner_place("test.file.inner");
const trace::site often("test.file.often", trace::kind::sampled);

/// Every whole line of an array that may not be closed.
std::vector<json> events_in(const std::string& text) {
    std::vector<json> events;
    std::istringstream in(text);
    std::string line;
    while (std::getline(in, line) && !in.eof()) {
        if (line == "[" || line == "]") continue;
        events.push_back(json::parse(line.front() == ',' ? line.substr(1) : line));
    }
    return events;
}

std::size_t count_of(const std::vector<json>& events, const std::string& name) {
    return static_cast<std::size_t>(std::ranges::count_if(
        events, [&](const json& one) { return one.at("ph") == "X" && one.at("name") == name; }));
}

} // namespace

TEST_CASE("spans stand on the track of their named thread, within those around them") {
    const tracing on;
    const scratch_folder folder;
    const trace::counter things("test.file.things");
    const trace::gauge level("test.file.level", {"type", "a \"b\""});
    {
        const trace::perfetto_file file(folder / "t.json");
        level.set(7.5);
        things.add(3);
        std::thread worker([] {
            pthread_setname_np(pthread_self(), "test-worker");
            for (int i = 0; i < 5; ++i) {
                const trace::span outer(place);
                const trace::span inner(inner_place);
                const trace::span sampled(often);
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
        });
        worker.join();
        std::this_thread::sleep_for(std::chrono::milliseconds(1150)); // once more, with rates
    }
    const std::vector<json> events = json::parse(read_all(folder / "t.json"));
    CHECK(count_of(events, "test.file") == 5);
    CHECK(count_of(events, "test.file.often") == 0);
    std::map<int, std::string> threads;
    std::set<std::string> tracks;
    std::vector<json> inner;
    for (const json& one : events) {
        if (one.at("name") == "thread_name") threads[one.at("tid")] = one["args"].at("name");
        if (one.at("ph") == "C") tracks.insert(one.at("name"));
        if (one.at("name") == "test.file.inner") inner.push_back(one);
    }
    REQUIRE(inner.size() == 5);
    std::size_t at = 0;
    for (const json& one : events) {
        if (one.at("name") != "test.file") continue;
        CHECK(threads.at(one.at("tid")) == "test-worker");
        const json& within = inner.at(at++);
        CHECK(within.at("dur") >= 1000);
        CHECK(one.at("ts") <= within.at("ts"));
        CHECK(one["ts"].get<double>() + one["dur"].get<double>() + 0.002 >=
              within["ts"].get<double>() + within["dur"].get<double>());
    }
    CHECK(tracks.contains("test.file.things per second"));
    CHECK(tracks.contains("test.file.often per second"));
    CHECK(tracks.contains("test.file.level a \"b\""));
}

TEST_CASE("a file that exists is left alone") {
    const scratch_folder folder;
    write_all(folder / "t.json", "mine");
    CHECK_THROWS_AS(trace::perfetto_file(folder / "t.json"), usage_error);
    CHECK(read_all(folder / "t.json") == "mine");
    CHECK_THROWS_AS(trace::perfetto_file(folder / "no" / "t.json"), io_error);
}

TEST_CASE("it stops at its limit with a note, and is valid JSON") {
    const tracing on;
    const scratch_folder folder;
    {
        trace::perfetto_options options;
        options.most_bytes = 20'000;
        const trace::perfetto_file file(folder / "t.json", options);
        for (int round = 0; round < 500 && !file.stopped(); ++round) {
            for (int i = 0; i < 50; ++i)
                const trace::span timed(place);
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        CHECK(file.stopped());
        trace::recording another(16); // it has let go
    }
    const std::string text = read_all(folder / "t.json");
    CHECK(text.size() <= 20'000);
    CHECK(text.size() >= 18'000);
    const json events = json::parse(text);
    CHECK(events.back().at("name").get<std::string>().find("limit of 20000") != std::string::npos);
}

TEST_CASE("what a thread's ring has no room for is counted") {
    const tracing on;
    const scratch_folder folder;
    const trace::site many("test.file.many");
    std::uint64_t dropped = 0;
    {
        trace::perfetto_options options;
        options.spans_per_thread = 32;
        const trace::perfetto_file file(folder / "t.json", options);
        for (int i = 0; i < 100'000; ++i)
            const trace::span timed(many);
        do { // until the writer has been there after the last span
            dropped = file.dropped();
            std::this_thread::sleep_for(std::chrono::milliseconds(250));
        } while (dropped == 0 || dropped != file.dropped());
    }
    const json events = json::parse(read_all(folder / "t.json"));
    CHECK(count_of(events, "test.file.many") + dropped == 100'000);
}

TEST_CASE("a full disk ends the file, not the program") {
    const tracing on;
    const scratch_folder folder;
    {
        const trace::perfetto_file file(folder / "t.json");
        const file_size_limit full(4'096);
        for (int round = 0; round < 500 && !file.stopped(); ++round) {
            for (int i = 0; i < 50; ++i)
                const trace::span timed(place);
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        CHECK(file.stopped());
    }
    const std::string text = read_all(folder / "t.json");
    CHECK(text.back() == '\n');
    CHECK(events_in(text).size() >= 1);
}

TEST_CASE("killed in the middle, every line but the last is whole") {
    const scratch_folder folder;
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        trace::enable(true);
        const trace::perfetto_file file(folder / "t.json");
        for (;;)
            const trace::span timed(place);
    }
    while (!std::filesystem::exists(folder / "t.json") ||
           std::filesystem::file_size(folder / "t.json") < 100'000)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    CHECK(count_of(events_in(read_all(folder / "t.json")), "test.file") > 100);
}

// Prometheus' text: well formed, in base units, histograms that add up.

namespace {

trace::reading sample() {
    trace::reading now;
    now.at_ns = 5'000'000'000;
    trace::span_reading span{"a.timed", trace::kind::timed, 3, 1, 3'000'000'000, 3, 0, 0, 0, {}};
    for (const std::uint64_t ns : {300UL, 2'000'000UL, 90'000'000'000UL}) {
        span.times.add(trace::histogram::bucket_of(ns), 1);
        span.total_ns += ns;
    }
    span.own_ns = 1'500'000'000;
    span.longest_ns = 2'000'000;
    now.spans.push_back(span);
    span.name = "b.sampled";
    span.how = trace::kind::sampled;
    span.count = 1000;
    now.spans.push_back(span);
    now.counters = {{"c.events-seen", 12}};
    now.gauges = {{"d.bytes", {"type", "a\"b\\c\nd"}, 1.5},
                  {"e.height", {}, 7},
                  {"d.bytes", {"type", "post"}, 1e15}};
    return now;
}

} // namespace

TEST_CASE("the text has what a reading has") {
    exposition page(trace::prometheus_text(sample()));
    CHECK(page.types.at("chainbase_span_seconds") == "histogram");
    CHECK(page.values.at("chainbase_spans_total{span=\"a.timed\"}") == 3);
    CHECK(page.values.at("chainbase_spans_total{span=\"b.sampled\"}") == 1000);
    CHECK(page.values.at("chainbase_spans_in_flight{span=\"a.timed\"}") == 1);
    CHECK(page.values.at("chainbase_span_in_flight_seconds{span=\"a.timed\"}") == 2);
    CHECK(page.values.at("chainbase_span_own_seconds_total{span=\"a.timed\"}") == 1.5);
    CHECK(page.values.at("chainbase_span_longest_seconds{span=\"a.timed\"}") == 0.002);
    CHECK(page.values.at("chainbase_c_events_seen_total") == 12);
    CHECK(page.values.at("chainbase_d_bytes{type=\"a\\\"b\\\\c\\nd\"}") == 1.5);
    CHECK(page.values.at("chainbase_d_bytes{type=\"post\"}") == 1e15);
    CHECK(page.values.at("chainbase_e_height") == 7);
    CHECK_FALSE(page.values.contains("chainbase_span_seconds_count{span=\"b.sampled\"}"));
    CHECK(page.values.at("chainbase_sampled_span_seconds_count{span=\"b.sampled\"}") == 3);
}

TEST_CASE("the buckets of a histogram rise to its count") {
    const trace::reading now = sample();
    exposition page(trace::prometheus_text(now));
    CHECK(page.values.at("chainbase_span_seconds_count{span=\"a.timed\"}") == 3);
    CHECK(page.values.at("chainbase_span_seconds_sum{span=\"a.timed\"}") == Approx(90.0020003));
    CHECK(page.values.at("chainbase_span_seconds_bucket{span=\"a.timed\",le=\"+Inf\"}") == 3);
    const std::regex of_span(R"re(.*_bucket\{span="a.timed",le="([^"]+)"\})re");
    std::map<double, double> buckets;
    for (const auto& [name, value] : page.values) {
        std::smatch parts;
        if (std::regex_match(name, parts, of_span))
            buckets[parts[1] == "+Inf" ? std::numeric_limits<double>::infinity()
                                       : std::stod(parts[1])] = value;
    }
    REQUIRE(buckets.size() >= 10);
    double last = 0;
    for (const auto& [bound, count] : buckets) {
        CHECK(count >= last);
        last = count;
        const double below = (bound > 3e-7) + (bound > 2e-3) + (bound > 90.0);
        CHECK(count == below);
    }
}

TEST_CASE("the text of the running process is well formed") {
    const tracing on;
    const trace::site place("test.text");
    {
        const trace::span timed(place);
    }
    const exposition page(trace::prometheus_text(trace::snapshot()));
    CHECK(page.values.at("chainbase_spans_total{span=\"test.text\"}") >= 1);
    CHECK(page.names.contains("chainbase_span_seconds_bucket"));
}
