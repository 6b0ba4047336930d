#pragma once

#include <chrono>

namespace chainbase::driver::live {

/// What live mode and the harness measure time with.
using clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

[[nodiscard]] inline double seconds_of(nanoseconds duration) noexcept {
    return std::chrono::duration<double>(duration).count();
}
[[nodiscard]] inline double milliseconds_of(nanoseconds duration) noexcept {
    return std::chrono::duration<double, std::milli>(duration).count();
}

} // namespace chainbase::driver::live
