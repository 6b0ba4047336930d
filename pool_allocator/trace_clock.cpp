#include <pool_allocator/trace_clock.hpp>

#include <chrono>
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

void clock::measure() noexcept {
    counts_ = has_constant_counter();
    origin_ = now();
    if (!counts_) return;
    constexpr std::uint64_t least = 2'000'000; // both clocks are read to 50 ns: 1 in 40,000
    const std::uint64_t begin = steady_nanoseconds();
    std::uint64_t end = begin;
    while (end - begin < least)
        end = steady_nanoseconds();
    const double ticks_taken = static_cast<double>(now() - origin_);
    rate_ =
        static_cast<std::uint64_t>(static_cast<double>(end - begin) / ticks_taken * 4294967296.0);
}

void clock::calibrate() {
    static std::once_flag once;
    std::call_once(once, measure);
}

} // namespace chainbase::trace
