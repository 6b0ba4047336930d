#include <tools/driver/live/latencies.hpp>
#include <tools/text_table.hpp>

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
    const auto time = [](double ms) { return duration_in_words(ms / 1e3); };
    return fmt::format("p50 {}, p90 {}, p99 {}, p99.9 {}, max {}", time(all.p50_ms()),
                       time(all.p90_ms()), time(all.p99_ms()), time(all.p99_9_ms()),
                       time(all.max_ms()));
}

std::string in_words(const lock_use& lock) {
    return fmt::format("taken {:.0f} times a second, held {:.2f} % and waited for {:.2f} % of the "
                       "time, at most {} and {} at once",
                       lock.acquisitions_per_second, 100 * lock.held_share, 100 * lock.waited_share,
                       duration_in_words(lock.longest_hold_ms / 1e3),
                       duration_in_words(lock.longest_wait_ms / 1e3));
}

} // namespace chainbase::driver::live
