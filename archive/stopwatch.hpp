#pragma once

#include <pool_allocator/trace_clock.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace chainbase::archive {

namespace detail {

/// How far a thread is from the next lookup that it measures.
struct sampling {
    std::uint32_t left = 0;   ///< lookups that are only counted before the next one is measured
    std::uint32_t number = 0; ///< of the thread, from 1 on; 0 before its first lookup
    std::uint64_t random = 0;
};
inline constinit thread_local sampling own_sampling;

/// Draws the next distance. Returns true.
[[gnu::cold]] bool begin_next_distance() noexcept;

} // namespace detail

/// Measures from its construction. Reads the clock of traces, so somebody must have called
/// trace::clock::calibrate(), as every store does.
class stopwatch {
public:
    [[nodiscard]] std::chrono::nanoseconds elapsed() const noexcept {
        return std::chrono::nanoseconds(
            static_cast<std::int64_t>(trace::clock::nanoseconds(trace::clock::now() - start_)));
    }

private:
    trace::clock::ticks start_ = trace::clock::now();
};

/// The same for what takes hardly longer than reading a clock twice: only one of 64, at random
/// distances of 1 to 127 so that no rhythm of the caller is met, and each thread's first one, looks
/// at the clock at all.
class sampled_stopwatch {
public:
    sampled_stopwatch() noexcept {
        if (is_next()) start_ = trace::clock::now();
    }
    [[nodiscard]] bool is_measuring() const noexcept { return start_ != 0; }
    /// Requires is_measuring().
    [[nodiscard]] std::chrono::nanoseconds elapsed() const noexcept {
        return std::chrono::nanoseconds(
            static_cast<std::int64_t>(trace::clock::nanoseconds(trace::clock::now() - start_)));
    }

private:
    static bool is_next() noexcept {
        detail::sampling& own = detail::own_sampling;
        if (own.left == 0) [[unlikely]]
            return detail::begin_next_distance();
        --own.left;
        return false;
    }

    trace::clock::ticks start_ = 0;
};

} // namespace chainbase::archive
