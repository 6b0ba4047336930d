// The figures of spans, counters and gauges: on and off, nested, on several threads, in progress;
// and recorded spans: of every thread, in order, bounded.

#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <pthread.h>
#include <tests/support/cost.hpp>
#include <tests/trace/found.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

namespace {

std::uint64_t spend(std::chrono::microseconds least) {
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < least) {
    }
    return static_cast<std::uint64_t>((std::chrono::steady_clock::now() - begin).count());
}

/// But for rounding.
bool add_up(const trace::span_reading& whole, const trace::span_reading& part) {
    return whole.own_ns + part.total_ns + 1 - whole.total_ns <= 2;
}

/// Enters and leaves a place.
void pass(const trace::site& place, int times = 1) {
    for (int i = 0; i < times; ++i)
        const trace::span timed(place);
}

/// What a recording had of all threads.
struct taken {
    std::uint64_t events = 0;
    std::uint64_t dropped = 0;

    explicit taken(trace::recording& from) {
        for (const auto& thread : from.take()) {
            events += thread.events.size();
            dropped += thread.dropped;
        }
    }
};

std::size_t events_of(const std::vector<trace::recording::of_thread>& all, const char* thread) {
    std::size_t count = 0;
    for (const auto& one : all)
        if (one.name == thread) count += one.events.size();
    return count;
}

} // namespace

TEST_CASE("off, nothing is counted") {
    const trace::site place("test.off");
    const trace::counter events("test.off.events");
    const trace::gauge level("test.off.level");
    REQUIRE_FALSE(trace::enabled());
    {
        const trace::span timed(place);
        events.add(5);
        level.set(1);
    }
    CHECK(span_called("test.off").count == 0);
    CHECK(counter_called("test.off.events") == 0);
    for (const trace::gauge_reading& gauge : trace::snapshot().gauges)
        CHECK(gauge.name != "test.off.level");
}

TEST_CASE("a span that is under way when tracing is turned off still counts, one from before not") {
    const trace::site place("test.half");
    {
        const trace::span before(place);
        const tracing on;
    }
    CHECK(span_called("test.half").count == 0);
    {
        std::optional<tracing> on(std::in_place);
        const trace::span timed(place);
        on.reset();
    }
    CHECK(span_called("test.half").count == 1);
    CHECK(span_called("test.half").in_flight == 0);
}

TEST_CASE("total, own time and the longest of nested spans") {
    const tracing on;
    const trace::site outer("test.outer");
    const trace::site inner("test.inner");
    std::uint64_t outside = 0;
    std::uint64_t inside = 0;
    {
        const trace::span one(outer);
        outside += spend(std::chrono::microseconds(2000));
        for (const int us : {1000, 3000}) {
            const trace::span two(inner);
            inside += spend(std::chrono::microseconds(us));
        }
    }
    const trace::span_reading whole = span_called("test.outer");
    const trace::span_reading part = span_called("test.inner");
    REQUIRE(whole.count == 1);
    REQUIRE(part.count == 2);
    CHECK(whole.measured == 1);
    // The rate of the clock is measured to 1 in 10,000; being preempted only makes spans longer.
    CHECK(static_cast<double>(whole.total_ns) >= 0.99 * static_cast<double>(outside + inside));
    CHECK(static_cast<double>(part.total_ns) >= 0.99 * static_cast<double>(inside));
    CHECK(part.own_ns == part.total_ns);
    CHECK(add_up(whole, part));
    CHECK(part.longest_ns >= 2'970'000);
    CHECK(part.longest_ns <= part.total_ns);
    CHECK(part.times.count() == 2);
    CHECK(part.times.quantile(0.5, part.longest_ns) >= 990'000);
    CHECK(part.times.quantile(1, UINT64_MAX) * 8 <= part.longest_ns * 9 + 8);
}

TEST_CASE("a place within itself counts both, and its own time once") {
    const tracing on;
    const trace::site place("test.recursive");
    {
        const trace::span one(place);
        const trace::span two(place);
        const trace::span_reading now = span_called("test.recursive");
        CHECK(now.in_flight == 2);
        CHECK(now.count == 0);
        spend(std::chrono::microseconds(100));
    }
    const trace::span_reading done = span_called("test.recursive");
    CHECK(done.count == 2);
    CHECK(done.own_ns < done.total_ns);
    CHECK(done.own_ns >= 99'000);
}

TEST_CASE("sites and counters of one name are one") {
    const tracing on;
    const trace::site first("test.twice");
    const trace::site second("test.twice");
    const trace::counter one("test.twice.events");
    const trace::counter two("test.twice.events");
    pass(first);
    pass(second);
    one.add(2);
    two.add(3);
    CHECK(span_called("test.twice").count == 2);
    CHECK(counter_called("test.twice.events") == 5);
    const trace::reading all = trace::snapshot();
    CHECK(std::ranges::count(all.spans, "test.twice", &trace::span_reading::name) == 1);
}

TEST_CASE("gauges tell the newest value by label") {
    const tracing on;
    const trace::gauge accounts("test.bytes", {"type", "account"});
    const trace::gauge posts("test.bytes", {"type", "post"});
    accounts.set(10);
    posts.set(20);
    accounts.set(11);
    double found = 0;
    for (const trace::gauge_reading& gauge : trace::snapshot().gauges)
        if (gauge.name == "test.bytes") found += gauge.which.second == "post" ? 100 : gauge.value;
    CHECK(found == 111);
}

TEST_CASE("what threads count adds up, while they run and when they have ended") {
    const tracing on;
    static const trace::site timed_place("test.threads.timed");
    static const trace::site sampled_place("test.threads.sampled", trace::kind::sampled);
    static const trace::counter events("test.threads.events");
    constexpr int rounds = 20'000;
    std::atomic<bool> stop{false};
    std::thread looking([&] {
        while (!stop) {
            const trace::reading all = trace::snapshot();
            const trace::span_reading seen = span_called("test.threads.timed", all);
            if (seen.own_ns > seen.total_ns + 1000 || seen.in_flight > 4) stop = true;
        }
    });
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([] {
            for (int i = 0; i < rounds; ++i) {
                const trace::span outer(timed_place);
                const trace::span inner(sampled_place);
                events.add(3);
            }
        });
    for (std::thread& one : threads)
        one.join();
    CHECK_FALSE(stop);
    stop = true;
    looking.join();
    CHECK(span_called("test.threads.timed").count == 4 * rounds);
    CHECK(span_called("test.threads.timed").times.count() == 4 * rounds);
    CHECK(span_called("test.threads.sampled").count == 4 * rounds);
    CHECK(counter_called("test.threads.events") == 4 * rounds * 3);
}

TEST_CASE("what is in flight, and since when") {
    const tracing on;
    const trace::site place("test.flight");
    const std::uint64_t before = trace::snapshot().at_ns;
    std::atomic<bool> begun{false};
    std::atomic<bool> stop{false};
    std::thread first([&] {
        const trace::span timed(place);
        begun = true;
        while (!stop)
            std::this_thread::yield();
    });
    while (!begun)
        std::this_thread::yield();
    const std::uint64_t between = trace::snapshot().at_ns;
    {
        const trace::span timed(place);
        const trace::span_reading now = span_called("test.flight");
        CHECK(now.in_flight == 2);
        CHECK(now.count == 0);
        REQUIRE(now.in_flight_since_ns.has_value());
        CHECK(*now.in_flight_since_ns >= before);
        CHECK(*now.in_flight_since_ns <= between);
    }
    CHECK(span_called("test.flight").in_flight == 1);
    stop = true;
    first.join();
    CHECK(span_called("test.flight").in_flight == 0);
    CHECK_FALSE(span_called("test.flight").in_flight_since_ns.has_value());
}

TEST_CASE("a sampled place that is entered rarely is measured every time") {
    const tracing on;
    const trace::site place("test.rare", trace::kind::sampled);
    for (int i = 0; i < 200; ++i) {
        const trace::span timed(place);
        spend(std::chrono::microseconds(25));
    }
    const trace::span_reading seen = span_called("test.rare");
    CHECK(seen.count == 200);
    CHECK(seen.measured == 200);
    CHECK(seen.total_ns >= 200 * 24'750);
}

TEST_CASE("a sampled place that is entered often: exact counts, 1 in 64 measured for all") {
    const tracing on;
    const trace::site place("test.often", trace::kind::sampled);
    constexpr std::uint64_t rounds = 1'000'000;
    const std::uint64_t begin = trace::snapshot().at_ns;
    for (std::uint64_t i = 0; i < rounds; ++i)
        const trace::span timed(place);
    const std::uint64_t took = trace::snapshot().at_ns - begin;
    const trace::span_reading seen = span_called("test.often");
    CHECK(seen.count == rounds);
    CHECK(seen.in_flight == 0);
    CHECK(seen.measured >= rounds / 70);
    // One more for every 20 us that it took, whatever the machine did meanwhile.
    CHECK(seen.measured <= rounds / 58 + 64 + took / 20'000);
    CHECK(seen.times.count() <= rounds); // all but those since the last one measured
    CHECK(seen.times.count() >= rounds - 127);
}

TEST_CASE("a span within a sampled one that is not measured is taken from the one around it") {
    const tracing on;
    const trace::site outer("test.around");
    const trace::site often("test.between", trace::kind::sampled);
    const trace::site inner("test.within");
    for (int i = 0; i < 10'000; ++i)
        const trace::span warm(often); // no credits are left
    for (int i = 0; i < 300; ++i) {
        const trace::span one(outer);
        const trace::span two(often);
        const trace::span three(inner);
        spend(std::chrono::microseconds(10));
    }
    const trace::span_reading around = span_called("test.around");
    const trace::span_reading within = span_called("test.within");
    CHECK(within.total_ns >= 2'970'000);
    CHECK(add_up(around, within));
}

TEST_CASE("own time includes what sampled spans within took, not what timed ones did") {
    const tracing on;
    const trace::site outer("test.own.outer");
    const trace::site often("test.own.sampled", trace::kind::sampled);
    const trace::site inner("test.own.timed");
    {
        const trace::span one(outer);
        {
            const trace::span two(often);
            spend(std::chrono::microseconds(3000));
            const trace::span three(inner);
            spend(std::chrono::microseconds(1000));
        }
    }
    const trace::span_reading around = span_called("test.own.outer");
    const trace::span_reading between = span_called("test.own.sampled");
    CHECK(around.own_ns >= 2'970'000);
    CHECK(between.own_ns >= 2'970'000);
    CHECK(add_up(around, span_called("test.own.timed")));
    CHECK(add_up(between, span_called("test.own.timed")));
}

TEST_CASE("a sampled span that is not measured counts from its begin on, a measured one is seen") {
    const tracing on;
    const trace::site often("test.begun", trace::kind::sampled);
    constexpr std::uint64_t spans = 10'000;
    std::uint64_t in_flight = 0;
    for (std::uint64_t i = 0; i < spans; ++i) {
        const trace::span one(often);
        const trace::span_reading seen = span_called("test.begun");
        REQUIRE(seen.count + seen.in_flight == i + 1);
        REQUIRE(seen.in_flight <= 1);
        REQUIRE(seen.in_flight_since_ns.has_value() == (seen.in_flight == 1));
        in_flight += seen.in_flight;
    }
    CHECK(span_called("test.begun").measured == in_flight);
    CHECK(span_called("test.begun").count == spans);
}

TEST_CASE("what a span costs", "[.][cost]") {
    static const trace::site timed_place("test.cost.timed");
    static const trace::site sampled_place("test.cost.sampled", trace::kind::sampled);
    static const trace::counter events("test.cost.events");
    const auto timed = [] { const trace::span one(timed_place); };
    print_cost("an empty loop", [] {});
    print_cost("off", timed);
    const tracing on;
    print_cost("sampled", [] { const trace::span one(sampled_place); });
    print_cost("timed", timed);
    print_cost("counter", [] { events.add(); });
    const trace::recording kept(std::size_t{1} << 22);
    print_cost("timed and recorded", timed);
}

TEST_CASE("a duration is in the bucket that it is told to be in") {
    using trace::histogram;
    for (std::size_t b = 0; b < histogram::buckets; ++b) {
        CHECK(histogram::bucket_of(histogram::begin_of(b)) == b);
        CHECK(histogram::bucket_of(histogram::begin_of(b + 1) - 1) == b);
        CHECK(histogram::begin_of(b + 1) * 8 <= histogram::begin_of(b) * 9 + 8);
    }
    CHECK(histogram::bucket_of(UINT64_MAX) == histogram::buckets - 1);
    histogram times;
    CHECK(times.quantile(0.99, 0) == 0);
    for (std::uint64_t ns = 1; ns <= 1000; ++ns)
        times.add(histogram::bucket_of(ns), 1);
    CHECK(times.count() == 1000);
    CHECK(times.count_below(512) == 511);
    CHECK(times.quantile(0.5, 1000) >= 500);
    CHECK(times.quantile(0.5, 1000) <= 563);
    CHECK(times.quantile(1, UINT64_MAX) >= 1000);
}

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
    pass(place, 1000);
    const taken first(kept);
    CHECK(first.events == 64);
    CHECK(first.events + first.dropped == 1000);
    pass(place);
    const taken more(kept);
    CHECK(more.events == 1);
    CHECK(more.dropped == 0);
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
        const taken some(kept);
        seen += some.events + some.dropped;
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
        std::thread([&] { pass(place, 5); }).join();
    const taken all(kept);
    CHECK(all.events >= 256 * 4);
    CHECK(all.events + all.dropped == 300 * 5);
}

TEST_CASE("one recording at a time; a new one begins empty") {
    const tracing on;
    const trace::site place("test.again");
    {
        trace::recording first(16);
        CHECK_THROWS_AS(trace::recording(16), usage_error);
        const trace::span timed(place);
    }
    pass(place);
    trace::recording second(16);
    CHECK(taken(second).events == 0);
}
