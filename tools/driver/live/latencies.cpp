#include <tools/driver/live/latencies.hpp>

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace chainbase::driver::live {

lock_use lock_figures::in(double seconds) const noexcept {
    const auto share = [&](nanoseconds part) {
        return seconds > 0 ? std::round(seconds_of(part) / seconds * 1e5) / 1e5 : 0;
    };
    return {acquisitions,
            std::round(per_second(acquisitions, seconds) * 10) / 10,
            share(waited),
            share(held),
            rounded_ms(longest_wait),
            rounded_ms(longest_hold)};
}

std::string in_words(const latencies& all) {
    if (all.count() == 0) return "none";
    return fmt::format("p50 {:.3f}, p90 {:.3f}, p99 {:.3f}, p99.9 {:.3f}, max {:.3f} ms",
                       all.p50_ms(), all.p90_ms(), all.p99_ms(), all.p99_9_ms(), all.max_ms());
}

std::string in_words(const lock_use& lock) {
    return fmt::format("taken {:.0f} times a second, held {:.2f} % and waited for {:.2f} % of the "
                       "time, at most {:.3f} and {:.3f} ms at once",
                       lock.acquisitions_per_second, 100 * lock.held_share, 100 * lock.waited_share,
                       lock.longest_hold_ms, lock.longest_wait_ms);
}

} // namespace chainbase::driver::live
