#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace chainbase::trace {

/// Durations in buckets of powers of two with 8 parts each, so that a percentile is told to 12.5 %:
/// buckets 0 to 7 are 0 to 7 ns, and from there on bucket b holds [begin_of(b), begin_of(b + 1)).
/// The last one holds everything from 17 minutes on.
///
/// A plain value, like an int.
class histogram {
public:
    static constexpr std::size_t parts = 8;
    static constexpr std::size_t buckets = 38 * parts;

    [[nodiscard]] static constexpr std::size_t bucket_of(std::uint64_t ns) noexcept {
        if (ns < parts) return static_cast<std::size_t>(ns);
        const auto shift = static_cast<std::size_t>(std::bit_width(ns)) - 4;
        const std::size_t bucket = shift * parts + static_cast<std::size_t>(ns >> shift);
        return bucket < buckets ? bucket : buckets - 1;
    }
    /// The shortest duration of a bucket; of `buckets`, where the last one but for its excess ends.
    [[nodiscard]] static constexpr std::uint64_t begin_of(std::size_t bucket) noexcept {
        if (bucket < 2 * parts) return bucket;
        return (std::uint64_t{parts} + bucket % parts) << (bucket / parts - 1);
    }

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
