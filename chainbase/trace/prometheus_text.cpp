#include <chainbase/trace/prometheus_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace chainbase::trace {

namespace {

double seconds(std::uint64_t ns) {
    return static_cast<double>(ns) / 1e9;
}

std::string metric_name(const std::string& name) {
    std::string metric = "chainbase_" + name;
    std::ranges::replace_if(
        metric,
        [](char c) {
            return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_';
        },
        '_');
    return metric;
}

std::string escaped(const std::string& value) {
    std::string text;
    for (const char c : value) {
        if (c == '\\' || c == '"') text += '\\';
        if (c == '\n')
            text += "\\n";
        else
            text += c;
    }
    return text;
}

class page {
public:
    void begin(const std::string& metric, const char* type, const char* help) {
        print("# HELP {} {}\n# TYPE {} {}\n", metric, help, metric, type);
    }
    template <typename... T>
    void print(fmt::format_string<T...> format, T&&... values) {
        fmt::format_to(std::back_inserter(text_), format, std::forward<T>(values)...);
    }
    /// One value for each span that `wanted` takes.
    template <typename Wanted, typename Value>
    void of_each_span(const reading& now, const char* metric, const char* type, const char* help,
                      Wanted wanted, Value value) {
        begin(metric, type, help);
        for (const span_reading& span : now.spans)
            if (wanted(span)) print("{}{{span=\"{}\"}} {}\n", metric, span.name, value(span));
    }
    void histogram_of(const char* metric, const span_reading& span);
    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    std::string text_;
};

/// From 256 ns to 69 s by fours: what an operator wants to tell apart, in few series.
void page::histogram_of(const char* metric, const span_reading& span) {
    const std::uint64_t count = span.times.count();
    for (unsigned bits = 8; bits <= 36; bits += 2) {
        const std::uint64_t ns = std::uint64_t{1} << bits;
        print("{}_bucket{{span=\"{}\",le=\"{:.9g}\"}} {}\n", metric, span.name, seconds(ns),
              span.times.count_below(ns));
    }
    print("{}_bucket{{span=\"{}\",le=\"+Inf\"}} {}\n", metric, span.name, count);
    print("{}_sum{{span=\"{}\"}} {:.9f}\n", metric, span.name, seconds(span.total_ns));
    print("{}_count{{span=\"{}\"}} {}\n", metric, span.name, count);
}

void put_spans(page& to, const reading& now) {
    const auto any = [](const span_reading&) { return true; };
    to.of_each_span(now, "chainbase_spans_total", "counter", "Number of spans, exact.", any,
                    [](const span_reading& s) { return s.count; });
    to.of_each_span(now, "chainbase_spans_in_flight", "gauge", "Spans that have not ended.", any,
                    [](const span_reading& s) { return s.in_flight; });
    to.of_each_span(now, "chainbase_span_in_flight_seconds", "gauge",
                    "How long the oldest measured span has been in flight.", any,
                    [&](const span_reading& s) {
                        const std::uint64_t since = s.in_flight_since_ns.value_or(now.at_ns);
                        return seconds(now.at_ns > since ? now.at_ns - since : 0);
                    });
    to.of_each_span(now, "chainbase_span_longest_seconds", "gauge",
                    "The longest measured span since the process began.", any,
                    [](const span_reading& s) { return seconds(s.longest_ns); });
}

void put_times(page& to, const reading& now, kind how, const char* metric, const char* own_metric,
               const char* help, const char* own_help) {
    const auto wanted = [&](const span_reading& span) { return span.how == how; };
    to.begin(metric, "histogram", help);
    for (const span_reading& span : now.spans)
        if (wanted(span)) to.histogram_of(metric, span);
    to.of_each_span(now, own_metric, "counter", own_help, wanted,
                    [](const span_reading& s) { return seconds(s.own_ns); });
}

void put_gauges(page& to, const reading& now) {
    std::vector<const gauge_reading*> by_name; // a metric's values must stand together
    for (const gauge_reading& gauge : now.gauges)
        by_name.push_back(&gauge);
    std::ranges::stable_sort(by_name, {}, [](const gauge_reading* g) { return g->name; });
    std::string last;
    for (const gauge_reading* gauge : by_name) {
        const std::string metric = metric_name(gauge->name);
        if (metric != last) to.begin(metric, "gauge", "The newest value.");
        last = metric;
        if (gauge->which.first.empty())
            to.print("{} {}\n", metric, gauge->value);
        else
            to.print("{}{{{}=\"{}\"}} {}\n", metric, gauge->which.first,
                     escaped(gauge->which.second), gauge->value);
    }
}

} // namespace

std::string prometheus_text(const reading& now) {
    page text;
    put_spans(text, now);
    put_times(text, now, kind::timed, "chainbase_span_seconds", "chainbase_span_own_seconds_total",
              "How long spans took.", "Time in spans, without the timed spans within them.");
    put_times(text, now, kind::sampled, "chainbase_sampled_span_seconds",
              "chainbase_sampled_span_own_seconds_total",
              "How long spans took, estimated from those measured: 1 in 64 of frequent ones.",
              "Estimated time in spans, without the timed spans within them.");
    for (const counter_reading& counter : now.counters) {
        const std::string metric = metric_name(counter.name) + "_total";
        text.begin(metric, "counter", "Counted events.");
        text.print("{} {}\n", metric, counter.value);
    }
    put_gauges(text, now);
    return text.take();
}

} // namespace chainbase::trace
