#include <tools/driver/live/latencies.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>

namespace chainbase::driver::live {

void latencies::add(const latencies& other) noexcept {
    std::ranges::transform(counts_, other.counts_, counts_.begin(), std::plus());
    count_ += other.count_;
    longest_ = std::max(longest_, other.longest_);
}

nanoseconds latencies::quantile(double share) const noexcept {
    const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
    std::uint64_t seen = 0;
    for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket) {
        seen += counts_[bucket];
        if (seen < wanted || seen == 0) continue;
        const bool is_last = bucket == buckets - 1; // which has all that is longer, too
        return is_last ? longest()
                       : std::min(longest(),
                                  nanoseconds(static_cast<std::int64_t>(begin_of(bucket + 1) - 1)));
    }
    return nanoseconds(0);
}

std::uint64_t latencies::up_to(nanoseconds limit) const noexcept {
    if (limit.count() < 0) return 0;
    const auto end =
        static_cast<std::ptrdiff_t>(bucket_of(static_cast<std::uint64_t>(limit.count())) + 1);
    return std::accumulate(counts_.begin(), counts_.begin() + end, std::uint64_t{0});
}

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
