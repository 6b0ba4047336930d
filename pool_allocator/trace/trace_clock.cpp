#include <pool_allocator/trace/trace_clock.hpp>

#include <chrono>
#include <cstdint>
#include <mutex>
#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace chainbase::trace {

namespace {

/// Whether the counter runs at one rate whatever the processor does, and on all of them alike.
bool has_constant_counter() noexcept {
#ifdef __x86_64__
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1U << 8)) != 0;
#else
    return false;
#endif
}

} // namespace

std::uint64_t clock::steady_nanoseconds() noexcept {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::steady_clock::now().time_since_epoch())
                                          .count());
}

/// One moment by both clocks.
struct clock::moment {
    ticks counted = 0;
    std::uint64_t ns = 0;

    /// The closest of 16 readings, or of more while none is within 1 us: a thread preempted between
    /// the two clocks reads two different moments.
    static moment now() noexcept {
        moment closest;
        std::uint64_t distance = UINT64_MAX;
        for (int i = 0; i < 16 || (distance >= 1000 && i < 10'000); ++i) {
            const std::uint64_t before = steady_nanoseconds();
            const ticks counted = clock::now();
            const std::uint64_t after = steady_nanoseconds();
            if (after - before >= distance) continue;
            distance = after - before;
            closest = {counted, before + distance / 2};
        }
        return closest;
    }
};

void clock::measure() noexcept {
    counts_ = has_constant_counter();
    origin_ = now();
    if (!counts_) return;
    constexpr std::uint64_t least = 2'000'000; // both clocks are read to 50 ns: 1 in 40,000
    const moment begin = moment::now();
    while (steady_nanoseconds() - begin.ns < least) {
    }
    const moment end = moment::now();
    rate_ =
        static_cast<std::uint64_t>(static_cast<double>(end.ns - begin.ns) /
                                   static_cast<double>(end.counted - begin.counted) * 4294967296.0);
}

void clock::calibrate() {
    static std::once_flag once;
    std::call_once(once, measure);
}

} // namespace chainbase::trace
