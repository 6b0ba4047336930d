#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace chainbase::trace {

/// Buckets for numbers of any size: powers of two with 2^Precision parts each, so that a bucket's
/// width is at most 1/2^Precision of its lower bound. The scheme of HdrHistogram (Gil Tene), used
/// by all histograms here.
///
/// Numbers below 2^(Precision + 1) have buckets of their own; from there on bucket b holds
/// [begin_of(b), begin_of(b + 1)). The last one holds everything from 2^40 on, too (of nanoseconds,
/// 18 minutes).
template <unsigned Precision>
struct log_buckets {
    static constexpr std::size_t parts = std::size_t{1} << Precision;
    static constexpr unsigned longest_bits = 40;
    static constexpr std::size_t buckets = (longest_bits - Precision + 1) * parts;

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

/// How many numbers fell in each of log_buckets, and what that says of them. Places that several
/// threads count in keep atomic numbers by bucket_of(), and are read into one of these.
///
/// A plain value, like an int.
template <unsigned Precision>
class counted_buckets : public log_buckets<Precision> {
public:
    using log_buckets<Precision>::buckets;
    using log_buckets<Precision>::begin_of;

    void add(std::size_t bucket, std::uint64_t times) noexcept { counts_[bucket] += times; }
    void add(const counted_buckets& other) noexcept {
        for (std::size_t b = 0; b < buckets; ++b)
            counts_[b] += other.counts_[b];
    }
    [[nodiscard]] std::uint64_t in_bucket(std::size_t bucket) const noexcept {
        return counts_[bucket];
    }
    [[nodiscard]] std::uint64_t count() const noexcept {
        std::uint64_t all = 0;
        for (const std::uint64_t count : counts_)
            all += count;
        return all;
    }
    /// How many were less than `number`, by buckets that end there or before: exact for powers of
    /// two. The last bucket has no end.
    [[nodiscard]] std::uint64_t count_below(std::uint64_t number) const noexcept {
        std::uint64_t below = 0;
        for (std::size_t b = 0; b + 1 < buckets && begin_of(b + 1) <= number; ++b)
            below += counts_[b];
        return below;
    }
    /// The number that a share of all did not exceed: the greatest of the bucket in which the one
    /// of rank ceil(share * count) lies, so at most the width of a bucket more than that one, never
    /// less, and never more than `longest`, the greatest that was added. 0 when there are none.
    /// Requires 0 < share <= 1.
    [[nodiscard]] std::uint64_t quantile(double share, std::uint64_t longest) const noexcept {
        const auto rank = std::ceil(share * static_cast<double>(count()));
        std::uint64_t seen = 0;
        for (std::size_t b = 0; b + 1 < buckets; ++b) {
            seen += counts_[b];
            if (seen != 0 && static_cast<double>(seen) >= rank)
                return std::min(begin_of(b + 1) - 1, longest);
        }
        return seen + counts_.back() == 0 ? 0 : longest; // the last bucket has no end
    }
    /// What was added since `earlier`, a former reading of the same places.
    [[nodiscard]] counted_buckets since(const counted_buckets& earlier) const noexcept {
        counted_buckets added;
        for (std::size_t b = 0; b < buckets; ++b)
            added.counts_[b] = counts_[b] - earlier.counts_[b];
        return added;
    }

private:
    std::array<std::uint64_t, buckets> counts_{};
};

/// Durations of traces in nanoseconds, so that a percentile is told to 12.5 %.
using histogram = counted_buckets<3>;

} // namespace chainbase::trace
