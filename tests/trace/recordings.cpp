// Spans kept one by one: of every thread, in order, bounded.

#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <pthread.h>
#include <tests/trace/found.hpp>

#include <atomic>
#include <thread>

using namespace chainbase;
using namespace chainbase::test;

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
