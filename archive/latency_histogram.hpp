#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace chainbase::archive {

/// What a latency_histogram had counted at one moment: a plain value.
class latency_reading;

/// How long something took, in buckets of powers of two with 32 parts each: a bucket is at most
/// 1/32 (3.2 %) as wide as where it begins, and those below 64 ns are exact. The way of
/// HdrHistogram (Gil Tene), of fixed precision and fixed memory: 9 KiB, whatever is recorded.
///
/// Invariants:
///  1. Buckets 0 to 31 are 0 to 31 ns; from there on bucket b holds [begin_of(b), begin_of(b + 1)).
///     The last one holds everything from 18 minutes on, too.
///  2. Each number is exact. Numbers read while others record may disagree by what is being
///     recorded.
///  3. All zero bytes are an empty one, and it holds no address: it may lie in shared memory.
///
/// Any thread may record and read: two relaxed increments a record, and a third store for the
/// longest so far.
class latency_histogram {
public:
    static constexpr unsigned precision = 5; ///< bits
    static constexpr std::size_t parts = std::size_t{1} << precision;
    static constexpr unsigned longest_bits = 40;
    static constexpr std::size_t buckets = (longest_bits - precision + 1) * parts;

    void record(std::chrono::nanoseconds duration) noexcept {
        const auto ns = static_cast<std::uint64_t>(duration.count() > 0 ? duration.count() : 0);
        counts_[bucket_of(ns)].fetch_add(1, std::memory_order_relaxed);
        total_ns_.fetch_add(ns, std::memory_order_relaxed);
        std::uint64_t longest = longest_ns_.load(std::memory_order_relaxed);
        while (ns > longest &&
               !longest_ns_.compare_exchange_weak(longest, ns, std::memory_order_relaxed)) {
        }
    }

    [[nodiscard]] static constexpr std::size_t bucket_of(std::uint64_t ns) noexcept {
        if (ns < parts) return static_cast<std::size_t>(ns);
        const auto shift = static_cast<std::size_t>(std::bit_width(ns)) - precision - 1;
        const std::size_t bucket = shift * parts + static_cast<std::size_t>(ns >> shift);
        return bucket < buckets ? bucket : buckets - 1;
    }
    /// The shortest duration of a bucket; of `buckets`, where the last one but for its excess ends.
    [[nodiscard]] static constexpr std::uint64_t begin_of(std::size_t bucket) noexcept {
        if (bucket < 2 * parts) return bucket;
        return (std::uint64_t{parts} + bucket % parts) << (bucket / parts - 1);
    }

    [[nodiscard]] std::uint64_t count() const noexcept;
    [[nodiscard]] latency_reading read() const noexcept;

private:
    std::array<std::atomic<std::uint64_t>, buckets> counts_{};
    std::atomic<std::uint64_t> total_ns_{0};
    std::atomic<std::uint64_t> longest_ns_{0};
};

class latency_reading {
public:
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    [[nodiscard]] std::uint64_t total_ns() const noexcept { return total_ns_; }
    /// Exact.
    [[nodiscard]] std::uint64_t longest_ns() const noexcept { return longest_ns_; }

    /// Returns the nanoseconds that a share of all records did not exceed: the longest duration of
    /// the bucket in which the record of rank ceil(share * count) lies, so at most 1/32 more than
    /// that record, never less, and never more than longest_ns(). 0 when there are none. Requires
    /// 0 < share <= 1.
    [[nodiscard]] std::uint64_t quantile(double share) const noexcept;

    /// How many took less than `ns`, by buckets that end there or before: exact for powers of two.
    [[nodiscard]] std::uint64_t count_below(std::uint64_t ns) const noexcept;

private:
    friend class latency_histogram;

    std::array<std::uint64_t, latency_histogram::buckets> counts_{};
    std::uint64_t count_ = 0;
    std::uint64_t total_ns_ = 0;
    std::uint64_t longest_ns_ = 0;
};

} // namespace chainbase::archive
