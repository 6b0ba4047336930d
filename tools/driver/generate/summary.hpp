#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace chainbase::generate {

/// What a distribution of whole numbers comes to, itself in whole numbers: the same everywhere.
struct summary {
    std::uint64_t count = 0;
    std::int64_t mean_milli = 0; ///< the mean in thousandths
    std::int64_t p50 = 0;
    std::int64_t p90 = 0;
    std::int64_t p99 = 0;
    std::int64_t most = 0;
    std::uint32_t zero_permille = 0;
    std::uint32_t top1_permille = 0; ///< of the sum, what the largest hundredth has
    std::uint32_t gini_permille = 0; ///< 0: all the same; 0 also where a value is negative

    friend bool operator==(const summary&, const summary&) = default;
};

/// The value below which `part` of `of` equal parts of the sorted values lie, the last at most.
/// Requires a value.
[[nodiscard]] inline std::int64_t quantile_of(std::span<const std::int64_t> sorted,
                                              std::uint64_t part, std::uint64_t of) noexcept {
    return sorted[static_cast<std::size_t>((sorted.size() - 1) * part / of)];
}

/// Of sorted values; all zero without one.
[[nodiscard]] summary summary_of(std::span<const std::int64_t> sorted) noexcept;

} // namespace chainbase::generate
