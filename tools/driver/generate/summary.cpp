#include <tools/chains/checked.hpp>
#include <tools/driver/generate/summary.hpp>

#include <algorithm>

namespace chainbase::generate {
namespace {

std::uint32_t permille(int128 part, int128 of) {
    return of > 0 ? static_cast<std::uint32_t>(part * 1000 / of) : 0;
}

int128 sum_of(std::span<const std::int64_t> values) {
    int128 sum = 0;
    for (const std::int64_t one : values)
        sum += one;
    return sum;
}

/// 2 * sum(i * x_i) / (n * sum(x)) - (n + 1) / n in thousandths, i counted from 1.
std::uint32_t gini(std::span<const std::int64_t> sorted, int128 sum) {
    if (sum <= 0 || sorted.front() < 0) return 0;
    const auto n = static_cast<int128>(sorted.size());
    int128 ranked = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i)
        ranked += static_cast<int128>(i + 1) * sorted[i];
    const int128 most = n * sum; // of 2^32 values of 63 bits each: 2000 times it fits as well
    return static_cast<std::uint32_t>(
        std::max<int128>(0, (2000 * ranked - 1000 * (sum + most)) / most));
}

} // namespace

summary summary_of(std::span<const std::int64_t> sorted) noexcept {
    summary result;
    if (sorted.empty()) return result;
    const int128 sum = sum_of(sorted);
    const std::size_t largest = std::max<std::size_t>(1, sorted.size() / 100);
    result.count = sorted.size();
    result.mean_milli = static_cast<std::int64_t>(sum * 1000 / static_cast<int128>(sorted.size()));
    result.p50 = quantile_of(sorted, 50, 100);
    result.p90 = quantile_of(sorted, 90, 100);
    result.p99 = quantile_of(sorted, 99, 100);
    result.most = sorted.back();
    result.zero_permille =
        permille(std::ranges::count(sorted, 0), static_cast<int128>(sorted.size()));
    result.top1_permille = permille(sum_of(sorted.last(largest)), sum);
    result.gini_permille = gini(sorted, sum);
    return result;
}

} // namespace chainbase::generate
