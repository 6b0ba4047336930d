// Recordings and logs of intervals: rotated, cut by a full disk, killed.

#include <chainbase/trace/interval_log.hpp>
#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <pthread.h>
#include <tests/support/lowered_limit.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/state_files.hpp>
#include <tests/trace/found.hpp>

#include <atomic>
#include <chrono>
#include <sstream>
#include <string>
#include <thread>

using namespace chainbase;
using namespace chainbase::test;
using nlohmann::json;

// Spans kept one by one: of every thread, in order, bounded.

namespace {

std::size_t events_of(const std::vector<trace::recording::of_thread>& all, const char* thread) {
    std::size_t count = 0;
    for (const auto& one : all)
        if (one.name == thread) count += one.events.size();
    return count;
}

} // namespace

TEST_CASE("every span of a timed place is kept, those of threads that ended too") {
    const tracing on;
    const trace::site place("test.kept");
    const trace::site often("test.kept.often", trace::kind::sampled);
    trace::recording kept(100);
    std::thread other([&] {
        pthread_setname_np(pthread_self(), "test-other");
        for (int i = 0; i < 10; ++i) {
            const trace::span timed(place);
            const trace::span sampled(often);
        }
    });
    other.join();
    const auto all = kept.take();
    REQUIRE(events_of(all, "test-other") == 10);
    const trace::reading names = trace::snapshot();
    for (const auto& thread : all) {
        std::uint64_t last = 0;
        for (const trace::event& one : thread.events) {
            CHECK(names.spans.at(one.site).name == "test.kept");
            CHECK(one.begin_ns >= last);
            last = one.begin_ns + one.duration_ns;
        }
        CHECK(last <= names.at_ns);
        CHECK(thread.dropped == 0);
    }
    CHECK(events_of(kept.take(), "test-other") == 0);
}

TEST_CASE("what does not fit is dropped and counted, and the thread goes on") {
    const tracing on;
    const trace::site place("test.dropped");
    trace::recording kept(64);
    for (int i = 0; i < 1000; ++i)
        const trace::span timed(place);
    std::size_t events = 0;
    std::uint64_t dropped = 0;
    for (const auto& thread : kept.take()) {
        events += thread.events.size();
        dropped += thread.dropped;
    }
    CHECK(events == 64);
    CHECK(events + dropped == 1000);
    {
        const trace::span timed(place);
    }
    for (const auto& thread : kept.take()) {
        CHECK(thread.events.size() == 1);
        CHECK(thread.dropped == 0);
    }
    CHECK(span_called("test.dropped").count == 1001);
}

TEST_CASE("taking beside a thread that never stops loses nothing but what is counted") {
    const tracing on;
    const trace::site place("test.beside");
    trace::recording kept(256);
    std::atomic<bool> stop{false};
    std::thread busy([&] {
        while (!stop)
            const trace::span timed(place);
    });
    std::uint64_t seen = 0;
    const auto count = [&] {
        for (const auto& thread : kept.take())
            seen += thread.events.size() + thread.dropped;
    };
    while (seen < 100'000)
        count();
    stop = true;
    busy.join();
    count();
    CHECK(seen == span_called("test.beside").count);
}

TEST_CASE("what threads recorded that end faster than it is taken is counted") {
    const tracing on;
    const trace::site place("test.departed");
    trace::recording kept(4);
    for (int t = 0; t < 300; ++t)
        std::thread([&] {
            for (int i = 0; i < 5; ++i)
                const trace::span timed(place);
        }).join();
    std::size_t events = 0;
    std::uint64_t dropped = 0;
    for (const auto& thread : kept.take()) {
        events += thread.events.size();
        dropped += thread.dropped;
    }
    CHECK(events >= 256 * 4);
    CHECK(events + dropped == 300 * 5);
}

TEST_CASE("one recording at a time; a new one begins empty") {
    const tracing on;
    const trace::site place("test.again");
    {
        trace::recording first(16);
        CHECK_THROWS_AS(trace::recording(16), usage_error);
        const trace::span timed(place);
    }
    {
        const trace::span timed(place);
    }
    trace::recording second(16);
    for (const auto& thread : second.take())
        CHECK(thread.events.empty());
}

// The line a second: what is in it, rotation, a disk that refuses.

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

} // namespace

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
    const scratch_folder folder;
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
    const scratch_folder folder;
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

TEST_CASE("a log that ends in half a line is continued behind its last whole one") {
    const scratch_folder folder;
    const std::string whole(whole_line);
    for (const std::string& half : {std::string(R"({"time":"20)"), std::string(10'000, 'x')}) {
        for (const std::string& before : {whole + whole, std::string(R"({"time":)")}) {
            write_all(folder / "log", before + half);
            {
                const trace::interval_log log(folder / "log");
            }
            const std::vector<json> lines = lines_of(folder / "log");
            CHECK(lines.size() == (before.size() > whole.size() ? 3 : 1));
            CHECK(lines.back().contains("spans"));
        }
    }
}

TEST_CASE("somebody's file is neither continued nor renamed nor removed") {
    const tracing on;
    const scratch_folder folder;
    write_all(folder / "blocks", "CBLOCKS, and much more\n");
    CHECK_THROWS_AS(trace::interval_log(folder / "blocks"), usage_error);
    CHECK(read_all(folder / "blocks") == "CBLOCKS, and much more\n");
    CHECK_THROWS_AS(trace::interval_log(folder.path()), usage_error);

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
    const scratch_folder folder;
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
