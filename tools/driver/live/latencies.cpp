#include <tools/driver/live/latencies.hpp>

#include <algorithm>
#include <bit>
#include <cmath>

namespace chainbase::driver::live {

/// Numbers below 64 have a bucket each; above, each power of two has 64.
std::size_t latencies::bucket_of(std::uint64_t ns) noexcept {
    const auto width = static_cast<unsigned>(std::bit_width(ns));
    if (width <= bits) return ns;
    const unsigned shift = width - bits - 1;
    return (std::size_t{shift} << bits) + (ns >> shift);
}

std::uint64_t latencies::end_of(std::size_t bucket) noexcept {
    constexpr std::size_t per_power = std::size_t{1} << bits;
    if (bucket < per_power) return bucket;
    const std::size_t shift = (bucket >> bits) - 1;
    return ((bucket - (shift << bits) + 1) << shift) - 1;
}

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
        if (seen >= wanted && seen > 0)
            return nanoseconds(static_cast<std::int64_t>(std::min(end_of(bucket), longest_)));
    }
    return nanoseconds(0);
}

std::uint64_t latencies::up_to(nanoseconds limit) const noexcept {
    if (limit.count() < 0) return 0;
    const std::size_t last = bucket_of(static_cast<std::uint64_t>(limit.count()));
    std::uint64_t sum = 0;
    for (std::size_t bucket = 0; bucket <= last; ++bucket)
        sum += counts_[bucket];
    return sum;
}

} // namespace chainbase::driver::live
