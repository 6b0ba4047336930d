// The outputs of a run: a line a second, the file of single spans, Prometheus' text.
// tests/programs/test_driver_observation.py tests how programs write them, and leave them when
// killed.

#include <chainbase/trace/interval_log.hpp>
#include <chainbase/trace/perfetto_file.hpp>
#include <chainbase/trace/prometheus_text.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <pthread.h>
#include <tests/support/lowered_limit.hpp>
#include <tests/support/temporary_folder.hpp>
#include <tests/trace/found.hpp>

#include <chrono>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>

using namespace chainbase;
using namespace chainbase::test;
using nlohmann::json;

namespace {

trace::span_reading read_of(const char* name, trace::kind how,
                            std::initializer_list<std::uint64_t> took_ns, std::uint64_t each = 1) {
    trace::span_reading span;
    span.name = name;
    span.how = how;
    for (const std::uint64_t ns : took_ns) {
        span.count += each;
        ++span.measured;
        span.total_ns += each * ns;
        span.own_ns += each * ns / 2;
        span.longest_ns = std::max(span.longest_ns, ns);
        span.times.add(trace::histogram::bucket_of(ns), each);
    }
    return span;
}

std::vector<json> lines_of(const std::filesystem::path& file) {
    std::vector<json> lines;
    std::istringstream in(read_all(file));
    std::string line;
    while (std::getline(in, line))
        lines.push_back(json::parse(line));
    return lines;
}

constexpr std::string_view whole_line = R"({"time":"2023-11-14T22:13:20.123Z"})"
                                        "\n";

const std::chrono::system_clock::time_point noon{std::chrono::milliseconds(1'700'000'000'123)};

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

// --- the line a second ---

TEST_CASE("a line tells what happened between two readings") {
    using trace::kind;
    trace::reading before{1'000'000'000, {read_of("a.timed", kind::timed, {100'000'000})}, {}, {}};
    trace::reading now = before;
    now.at_ns = 3'000'000'000;
    now.spans[0] = read_of("a.timed", kind::timed, {100'000'000, 1'000'000, 3'000'000});
    now.spans.push_back(read_of("b.sampled", kind::sampled, {1'000, 3'000}, 64));
    now.spans.push_back(read_of("c.flying", kind::timed, {}));
    now.spans.back().in_flight = 2;
    now.spans.back().in_flight_since_ns = 500'000'000;
    now.spans.push_back(read_of("d.idle", kind::timed, {}));
    now.counters = {{"e.events", 500}};
    now.gauges = {{"f.bytes", {"type", "post"}, 12}, {"f.height", {}, 7}};
    const json line = json::parse(trace::interval_line(before, now, noon));
    CHECK(line.at("time") == "2023-11-14T22:13:20.123Z");
    CHECK(line.at("seconds") == 2.0);

    const json& timed = line.at("spans").at("a.timed");
    CHECK(timed.at("count") == 2);
    CHECK(timed.at("total_us") == 4000.0);
    CHECK(timed.at("average_us") == 2000.0);
    CHECK(timed.at("own_us") == 2000.0);
    CHECK(timed.at("share") == 0.002);
    CHECK(timed.at("longest_us") >= 3000.0); // the longest ever was before
    CHECK(timed.at("longest_us") <= 3375.0);
    CHECK(timed.at("p50_us") >= 1000.0);
    CHECK(timed.at("p50_us") <= 1125.0);
    CHECK(timed.at("p99_us") >= 3000.0);
    CHECK_FALSE(timed.contains("in_flight"));

    const json& sampled = line.at("spans").at("b.sampled");
    CHECK(sampled.at("count") == 128);
    CHECK(sampled.at("sampled") == 2);
    CHECK(sampled.at("estimated_total_us") == 256.0);
    CHECK(sampled.at("sampled_average_us") == 2.0);
    CHECK(sampled.at("sampled_longest_us") == 3.0);
    CHECK_FALSE(sampled.contains("total_us"));

    const json& flying = line.at("spans").at("c.flying");
    CHECK(flying.at("count") == 0);
    CHECK(flying.at("in_flight") == 2);
    CHECK(flying.at("in_flight_seconds") == 2.5);
    CHECK_FALSE(line.at("spans").contains("d.idle"));
    CHECK(line.at("counters").at("e.events") == json{{"count", 500}, {"rate", 250.0}});
    CHECK(line.at("gauges") == json{{"f.bytes{type=post}", 12.0}, {"f.height", 7.0}});
}

TEST_CASE("what was counted is in the lines, once") {
    const tracing on;
    const temporary_folder folder;
    const trace::counter things("test.log.things");
    const trace::site place("test.log");
    {
        const trace::interval_log log(folder / "log", {std::chrono::milliseconds(20), 1 << 20, 4});
        for (int i = 0; i < 100; ++i) {
            const trace::span timed(place);
            things.add();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    std::uint64_t counted = 0;
    std::uint64_t ended = 0;
    const std::vector<json> lines = lines_of(folder / "log");
    CHECK(lines.size() >= 2);
    for (const json& line : lines) {
        counted += line.at("counters").at("test.log.things").at("count").get<std::uint64_t>();
        if (line.at("spans").contains("test.log"))
            ended += line["spans"]["test.log"].at("count").get<std::uint64_t>();
    }
    CHECK(counted == 100);
    CHECK(ended == 100);

    {
        const trace::interval_log more(folder / "log");
    } // goes on behind
    CHECK(lines_of(folder / "log").size() == lines.size() + 1);
}

TEST_CASE("files are renamed at their limit, and so many are kept") {
    const tracing on;
    const temporary_folder folder;
    {
        const trace::interval_log log(folder / "log", {std::chrono::milliseconds(1), 8'000, 2});
        while (!std::filesystem::exists(folder / "log.2"))
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    CHECK_FALSE(std::filesystem::exists(folder / "log.3"));
    std::string last;
    for (const char* name : {"log.2", "log.1", "log"}) {
        const std::vector<json> lines = lines_of(folder / name);
        CHECK(lines.size() >= 1);
        CHECK(std::filesystem::file_size(folder / name) <= 8'000);
        for (const json& line : lines) {
            CHECK(line.at("time").get<std::string>() >= last);
            last = line.at("time");
        }
    }
}

TEST_CASE("somebody's file is neither continued nor renamed nor removed") {
    const tracing on;
    const temporary_folder folder;
    const trace::interval_log_options one_line{std::chrono::hours(1), 1, 2};
    write_all(folder / "log.2", "mine\n");
    CHECK_THROWS_AS(trace::interval_log(folder / "log", one_line), usage_error);
    CHECK_FALSE(std::filesystem::exists(folder / "log"));
    std::filesystem::remove(folder / "log.2");
    write_all(folder / "log", std::string(whole_line));
    {
        const trace::interval_log log(folder / "log", one_line);
        write_all(folder / "log.1", "mine\n");
    } // its line would rename log to log.1
    CHECK(read_all(folder / "log.1") == "mine\n");
    CHECK(read_all(folder / "log") == whole_line);
}

TEST_CASE("a disk that is full ends the log with whole lines, not the program") {
    const tracing on;
    const temporary_folder folder;
    {
        const file_size_limit full(5'000);
        const trace::interval_log log(folder / "log", {std::chrono::milliseconds(1), 1 << 20, 2});
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    const std::vector<json> lines = lines_of(folder / "log");
    CHECK(lines.size() >= 1);
    CHECK(std::filesystem::file_size(folder / "log") <= 5'000);
    CHECK_THROWS_AS(trace::interval_log(folder / "no" / "log"), io_error);
}

// --- the file of single spans ---

TEST_CASE("spans stand on the track of their named thread, within those around them") {
    const tracing on;
    const temporary_folder folder;
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

TEST_CASE("it stops at its limit with a note, and is valid JSON") {
    const tracing on;
    const temporary_folder folder;
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
    const temporary_folder folder;
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
    const temporary_folder folder;
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

// --- Prometheus' text ---

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

TEST_CASE("the text has what a reading has, in base units") {
    const std::string text = trace::prometheus_text(sample());
    for (const char* line :
         {"# TYPE chainbase_span_seconds histogram", "chainbase_spans_total{span=\"a.timed\"} 3",
          "chainbase_spans_total{span=\"b.sampled\"} 1000",
          "chainbase_spans_in_flight{span=\"a.timed\"} 1",
          "chainbase_span_in_flight_seconds{span=\"a.timed\"} 2",
          "chainbase_span_own_seconds_total{span=\"a.timed\"} 1.5",
          "chainbase_span_longest_seconds{span=\"a.timed\"} 0.002",
          "chainbase_c_events_seen_total 12", "chainbase_d_bytes{type=\"a\\\"b\\\\c\\nd\"} 1.5",
          "chainbase_d_bytes{type=\"post\"} 1000000000000000", "chainbase_e_height 7",
          "chainbase_sampled_span_seconds_count{span=\"b.sampled\"} 3"})
        CHECK_THAT(text, Catch::Contains(std::string(line) + "\n"));
    CHECK_THAT(text, !Catch::Contains("chainbase_span_seconds_count{span=\"b.sampled\"}"));
}

TEST_CASE("the buckets of a histogram rise to its count") {
    const std::string text = trace::prometheus_text(sample());
    for (const char* line : {"_count{span=\"a.timed\"} 3", "_sum{span=\"a.timed\"} 90.002000300",
                             "_bucket{span=\"a.timed\",le=\"+Inf\"} 3"})
        CHECK_THAT(text, Catch::Contains(std::string("chainbase_span_seconds") + line + "\n"));
    const std::string sign = "chainbase_span_seconds_bucket{span=\"a.timed\",le=\"";
    std::istringstream lines(text);
    double last = 0;
    int buckets = 0;
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with(sign)) continue;
        const double bound = std::stod(line.substr(sign.size()));
        CHECK(bound > last);
        last = bound;
        CHECK(std::stod(line.substr(line.rfind(' '))) ==
              (bound > 3e-7) + (bound > 2e-3) + (bound > 90.0));
        ++buckets;
    }
    CHECK(buckets >= 10);
}
