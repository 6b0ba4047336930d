#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace chainbase::archive {

/// How long something took, in buckets of powers of two: bucket b counts durations of [2^b,
/// 2^(b+1)) nanoseconds, bucket 0 those of 0 and 1 ns too, the last one everything longer.
///
/// Any thread may record and read. Each number is exact; numbers read while others record may
/// disagree by what is being recorded (relaxed atomics: two uncontended increments per record).
class latency_histogram {
public:
    static constexpr std::size_t buckets = 40; // the last one starts at nine minutes

    void record(std::chrono::nanoseconds duration) noexcept {
        const auto ns = static_cast<std::uint64_t>(duration.count() > 0 ? duration.count() : 0);
        counts_[bucket_of(ns)].fetch_add(1, std::memory_order_relaxed);
        total_ns_.fetch_add(ns, std::memory_order_relaxed);
    }

    [[nodiscard]] static constexpr std::size_t bucket_of(std::uint64_t ns) noexcept {
        const auto bit = static_cast<std::size_t>(std::bit_width(ns | 1) - 1);
        return bit < buckets ? bit : buckets - 1;
    }

    [[nodiscard]] std::uint64_t in_bucket(std::size_t bucket) const noexcept {
        return counts_[bucket].load(std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t total_ns() const noexcept {
        return total_ns_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t count() const noexcept;

    struct summary {
        std::uint64_t count = 0;
        std::uint64_t total_ns = 0;
        std::uint64_t p50_ns = 0;
        std::uint64_t p99_ns = 0;
        std::uint64_t p999_ns = 0;
    };
    [[nodiscard]] summary summarized() const noexcept {
        return {count(), total_ns(), quantile(0.5), quantile(0.99), quantile(0.999)};
    }

    /// Returns the nanoseconds that a share of all records stayed below, rounded up to the end of a
    /// bucket; 0 when there are none. Requires 0 < share <= 1.
    [[nodiscard]] std::uint64_t quantile(double share) const noexcept;

private:
    std::array<std::atomic<std::uint64_t>, buckets> counts_{};
    std::atomic<std::uint64_t> total_ns_{0};
};

/// How a lookup ended. The store records hit_in_archive and miss; who asks shared memory first
/// records hit_in_memory.
enum class lookup { hit_in_memory, hit_in_archive, miss };

/// What a store has done since it was opened. Thread-safety is that of latency_histogram.
class statistics {
public:
    void record(lookup outcome, std::chrono::nanoseconds duration) noexcept {
        lookups_[static_cast<std::size_t>(outcome)].record(duration);
    }
    [[nodiscard]] const latency_histogram& lookups(lookup outcome) const noexcept {
        return lookups_[static_cast<std::size_t>(outcome)];
    }

    struct counter {
        std::atomic<std::uint64_t> value{0};
        void add(std::uint64_t amount) noexcept {
            value.fetch_add(amount, std::memory_order_relaxed);
        }
        operator std::uint64_t() const noexcept { return value.load(std::memory_order_relaxed); }
    };

    counter rows_put;       ///< rows that were new, or replaced another content
    counter rows_unchanged; ///< puts of a row that was there already, byte for byte
    counter rows_erased;    ///< erases of a row that was there
    counter bytes_put;      ///< records and keys of rows_put
    counter failures;       ///< calls that threw because of the disk or damage

    latency_histogram batches; ///< write()
    latency_histogram syncs;   ///< sync() and flush()

private:
    std::array<latency_histogram, 3> lookups_;
};

/// Measures from its construction.
class stopwatch {
public:
    [[nodiscard]] std::chrono::nanoseconds elapsed() const noexcept {
        return std::chrono::steady_clock::now() - start_;
    }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

} // namespace chainbase::archive
