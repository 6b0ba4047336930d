#pragma once

#include <pool_allocator/trace/trace_reading.hpp>

#include <string>
#include <string_view>

namespace chainbase::trace {

/// The content type for serving prometheus_text().
inline constexpr std::string_view prometheus_content_type =
    "text/plain; version=0.0.4; charset=utf-8";

/// A reading in Prometheus' text format 0.0.4, in seconds and the units that gauges are named with:
///
///     chainbase_spans_total{span=}                       how often a place was gone through; exact
///     chainbase_span_seconds{span=}                      histogram of a timed place
///     chainbase_span_own_seconds_total{span=}            less what was measured within
///     chainbase_sampled_span_seconds{span=}              the same of a sampled place: estimated
///     chainbase_sampled_span_own_seconds_total{span=}
///     chainbase_span_longest_seconds{span=}              since the process began
///     chainbase_spans_in_flight{span=}
///     chainbase_span_in_flight_seconds{span=}            how long the oldest has been
///     chainbase_<counter>_total
///     chainbase_<gauge>{label=}
///
/// Characters of a name that Prometheus does not allow become underscores.
[[nodiscard]] std::string prometheus_text(const reading& now);

} // namespace chainbase::trace
