// Prometheus' text: well formed, in base units, histograms that add up.

#include <chainbase/trace/prometheus_text.hpp>

#include <catch2/catch.hpp>
#include <tests/trace/exposition.hpp>
#include <tests/trace/found.hpp>

#include <limits>

using namespace chainbase;
using namespace chainbase::test;

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
