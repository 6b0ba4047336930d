#pragma once

#include <chrono>
#include <utility>

namespace chainbase::bench {

/// Returns: the wall time of `work()` in nanoseconds. The barriers keep the compiler from moving
/// stores across the two readings of the clock; one reading costs about 20 ns, so time batches.
template <typename Work>
double nanoseconds(Work&& work) {
    asm volatile("" ::: "memory");
    const auto start = std::chrono::steady_clock::now();
    std::forward<Work>(work)();
    asm volatile("" ::: "memory");
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start)
        .count();
}

} // namespace chainbase::bench
