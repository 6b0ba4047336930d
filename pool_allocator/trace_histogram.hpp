#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace chainbase::trace {

/// Buckets for numbers of any size: powers of two with 2^Precision parts each, so that a bucket is
/// at most that part of where it begins. The way of HdrHistogram (Gil Tene), for all histograms
/// here.
///
/// Numbers below 2^(Precision + 1) have buckets of their own; from there on bucket b holds
/// [begin_of(b), begin_of(b + 1)). The last one holds everything from 2^40 on, too (of nanoseconds,
/// 18 minutes).
template <unsigned Precision>
struct log_buckets {
    static constexpr std::size_t parts = std::size_t{1} << Precision;
    static constexpr std::size_t buckets = (40 - Precision + 1) * parts;

    [[nodiscard]] static constexpr std::size_t bucket_of(std::uint64_t number) noexcept {
        if (number < parts) return static_cast<std::size_t>(number);
        const auto shift = static_cast<std::size_t>(std::bit_width(number)) - Precision - 1;
        const std::size_t bucket = shift * parts + static_cast<std::size_t>(number >> shift);
        return bucket < buckets ? bucket : buckets - 1;
    }
    /// The smallest number of a bucket; of `buckets`, where the last one but for its excess ends.
    [[nodiscard]] static constexpr std::uint64_t begin_of(std::size_t bucket) noexcept {
        if (bucket < 2 * parts) return bucket;
        return (std::uint64_t{parts} + bucket % parts) << (bucket / parts - 1);
    }
};

/// Durations in nanoseconds, in buckets of which 8 make a power of two, so that a percentile is
/// told to 12.5 %.
///
/// A plain value, like an int.
class histogram : public log_buckets<3> {
public:
    void add(std::size_t bucket, std::uint64_t times) noexcept { counts_[bucket] += times; }
    [[nodiscard]] std::uint64_t in_bucket(std::size_t bucket) const noexcept {
        return counts_[bucket];
    }
    [[nodiscard]] std::uint64_t count() const noexcept {
        std::uint64_t all = 0;
        for (const std::uint64_t count : counts_)
            all += count;
        return all;
    }
    /// How many took less than `ns`, by buckets that end there or before.
    [[nodiscard]] std::uint64_t count_below(std::uint64_t ns) const noexcept {
        std::uint64_t below = 0;
        for (std::size_t b = 0; b < buckets && begin_of(b + 1) <= ns; ++b)
            below += counts_[b];
        return below;
    }
    /// Nanoseconds that a share of all stayed below, rounded up to the end of a bucket; 0 when
    /// there are none. Requires 0 < share <= 1.
    [[nodiscard]] std::uint64_t quantile(double share) const noexcept {
        const auto all = static_cast<double>(count());
        std::uint64_t seen = 0;
        for (std::size_t b = 0; b < buckets; ++b) {
            seen += counts_[b];
            if (seen != 0 && static_cast<double>(seen) >= share * all) return begin_of(b + 1);
        }
        return 0;
    }
    /// What was added since `earlier`, a former reading of the same places.
    [[nodiscard]] histogram since(const histogram& earlier) const noexcept {
        histogram added;
        for (std::size_t b = 0; b < buckets; ++b)
            added.counts_[b] = counts_[b] - earlier.counts_[b];
        return added;
    }

private:
    std::array<std::uint64_t, buckets> counts_{};
};

} // namespace chainbase::trace
