#pragma once

#include <pool_allocator/trace/trace.hpp>
#include <pool_allocator/trace/trace_reading.hpp>

#include <algorithm>
#include <string_view>

namespace chainbase::test {

/// Turns tracing on during its lifetime.
struct tracing {
    tracing() { trace::enable(true); }
    ~tracing() { trace::enable(false); }
    tracing(const tracing&) = delete;
    tracing& operator=(const tracing&) = delete;
};

/// A snapshot's reading of a name; an empty reading without one.
inline trace::span_reading span_called(std::string_view name,
                                       const trace::reading& all = trace::snapshot()) {
    const auto found = std::ranges::find(all.spans, name, &trace::span_reading::name);
    return found == all.spans.end() ? trace::span_reading{} : *found;
}
inline std::uint64_t counter_called(std::string_view name) {
    const trace::reading all = trace::snapshot();
    const auto found = std::ranges::find(all.counters, name, &trace::counter_reading::name);
    return found == all.counters.end() ? 0 : found->value;
}

} // namespace chainbase::test
