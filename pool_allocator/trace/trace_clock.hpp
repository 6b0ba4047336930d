#pragma once

#include <cstdint>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

namespace chainbase::trace {

/// The clock of traces: a time is two reads of it, so a read must cost little. It is the
/// processor's time stamp counter where that runs at a constant rate (9 ns a read, against 20 of
/// clock_gettime; 2 cores of a virtual Xeon), else std::chrono::steady_clock.
///
/// Ticks are converted to nanoseconds by a rate that is measured once. Thread-safety: any thread
/// may call calibrate(); all other calls require that it was called before.
class clock {
public:
    using ticks = std::uint64_t;

    /// Measures the rate; takes 2 ms the first time, nothing later.
    static void calibrate();

    [[nodiscard]] static ticks now() noexcept {
#ifdef __x86_64__
        if (counts_) return __rdtsc();
#endif
        return steady_nanoseconds();
    }
    /// How long a number of ticks is, in nanoseconds.
    [[nodiscard]] static std::uint64_t nanoseconds(ticks duration) noexcept {
#ifdef __SIZEOF_INT128__
        __extension__ using wide = unsigned __int128;
        return static_cast<std::uint64_t>((wide{duration} * rate_) >> 32);
#else
        return static_cast<std::uint64_t>(static_cast<double>(duration) *
                                          (static_cast<double>(rate_) / 4294967296.0));
#endif
    }
    /// The time `at` in nanoseconds since calibrate() was first called; 0 if earlier.
    [[nodiscard]] static std::uint64_t time_of(ticks at) noexcept {
        return at > origin_ ? nanoseconds(at - origin_) : 0;
    }

private:
    struct moment;

    static std::uint64_t steady_nanoseconds() noexcept;
    static void measure() noexcept;

    static inline bool counts_ = false; ///< whether ticks are the processor's
    static inline std::uint64_t rate_ = std::uint64_t{1} << 32; ///< nanoseconds per tick, 32.32
    static inline ticks origin_ = 0;
};

/// A duration in microseconds, as in reports.
[[nodiscard]] inline double microseconds(std::uint64_t nanoseconds) noexcept {
    return static_cast<double>(nanoseconds) / 1e3;
}

} // namespace chainbase::trace
