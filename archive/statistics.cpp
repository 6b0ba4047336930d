#include <archive/statistics.hpp>

#include <cmath>

namespace chainbase::archive {

std::uint64_t latency_histogram::count() const noexcept {
    std::uint64_t total = 0;
    for (std::size_t bucket = 0; bucket < buckets; ++bucket)
        total += in_bucket(bucket);
    return total;
}

std::uint64_t latency_histogram::quantile(double share) const noexcept {
    const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count())));
    std::uint64_t seen = 0;
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
        seen += in_bucket(bucket);
        if (seen >= wanted && seen != 0) return std::uint64_t{2} << bucket;
    }
    return 0;
}

} // namespace chainbase::archive
