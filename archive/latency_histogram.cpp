#include <archive/latency_histogram.hpp>

#include <algorithm>
#include <cmath>

namespace chainbase::archive {

std::uint64_t latency_histogram::count() const noexcept {
    std::uint64_t all = 0;
    for (const auto& count : counts_)
        all += count.load(std::memory_order_relaxed);
    return all;
}

latency_reading latency_histogram::read() const noexcept {
    latency_reading now;
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
        now.counts_[bucket] = counts_[bucket].load(std::memory_order_relaxed);
        now.count_ += now.counts_[bucket];
    }
    now.total_ns_ = total_ns_.load(std::memory_order_relaxed);
    now.longest_ns_ = longest_ns_.load(std::memory_order_relaxed);
    return now;
}

std::uint64_t latency_reading::quantile(double share) const noexcept {
    if (count_ == 0) return 0;
    const auto rank = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
    std::uint64_t seen = 0;
    for (std::size_t bucket = 0; bucket + 1 < counts_.size(); ++bucket) {
        seen += counts_[bucket];
        if (seen >= std::max<std::uint64_t>(rank, 1))
            return std::min(latency_histogram::begin_of(bucket + 1) - 1, longest_ns_);
    }
    return longest_ns_; // the last bucket has no end
}

std::uint64_t latency_reading::count_below(std::uint64_t ns) const noexcept {
    std::uint64_t below = 0;
    for (std::size_t bucket = 0;
         bucket + 1 < counts_.size() && latency_histogram::begin_of(bucket + 1) <= ns; ++bucket)
        below += counts_[bucket];
    return below;
}

} // namespace chainbase::archive
