#pragma once

#include <pool_allocator/base/process_of_origin.hpp>
#include <pool_allocator/trace/trace_clock.hpp>
#include <pool_allocator/trace/trace_histogram.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <type_traits>

namespace chainbase::archive {

/// What a latency_histogram had counted at one moment: a plain value.
class latency_reading;

/// How long something took, in buckets of powers of two with 32 parts each: a bucket is at most
/// 1/32 (3.2 %) as wide as where it begins, and those below 64 ns are exact. Of fixed memory: 9
/// KiB, whatever is recorded.
///
/// Invariants:
///  1. Each number is exact. Numbers read while others record may disagree by what is being
///     recorded.
///  2. All zero bytes are an empty one, and it holds no address: it may lie in shared memory.
///
/// Any thread may record and read: two relaxed increments a record, and a third store for the
/// longest so far.
class latency_histogram : public trace::log_buckets<5> {
public:
    void record(std::chrono::nanoseconds duration) noexcept {
        const auto ns = static_cast<std::uint64_t>(duration.count() > 0 ? duration.count() : 0);
        counts_[bucket_of(ns)].fetch_add(1, std::memory_order_relaxed);
        total_ns_.fetch_add(ns, std::memory_order_relaxed);
        std::uint64_t longest = longest_ns_.load(std::memory_order_relaxed);
        while (ns > longest &&
               !longest_ns_.compare_exchange_weak(longest, ns, std::memory_order_relaxed)) {
        }
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
    [[nodiscard]] std::uint64_t count() const noexcept { return counts_.count(); }
    [[nodiscard]] std::uint64_t total_ns() const noexcept { return total_ns_; }
    /// Exact.
    [[nodiscard]] std::uint64_t longest_ns() const noexcept { return longest_ns_; }

    /// Returns the nanoseconds that a share of all records did not exceed, at most 1/32 more than
    /// the record of that rank, never less. See trace::counted_buckets.
    [[nodiscard]] std::uint64_t quantile(double share) const noexcept {
        return counts_.quantile(share, longest_ns_);
    }
    /// How many took less than `ns`, by buckets that end there or before: exact for powers of two.
    [[nodiscard]] std::uint64_t count_below(std::uint64_t ns) const noexcept {
        return counts_.count_below(ns);
    }

private:
    friend class latency_histogram;

    trace::counted_buckets<5> counts_;
    std::uint64_t total_ns_ = 0;
    std::uint64_t longest_ns_ = 0;
};

namespace detail {

/// A thread's distance to its next measured lookup.
struct sampling {
    std::uint32_t left = 0;   ///< lookups that are only counted before the next one is measured
    std::uint32_t number = 0; ///< of the thread, from 1 on; 0 before its first lookup
    std::uint64_t random = 0;
};
inline constinit thread_local sampling own_sampling;

/// Draws the next distance. Returns true.
[[gnu::cold]] bool begin_next_distance() noexcept;

} // namespace detail

/// Measures from its construction. Reads the clock of traces, so somebody must have called
/// trace::clock::calibrate(), as every store does.
class stopwatch {
public:
    [[nodiscard]] std::chrono::nanoseconds elapsed() const noexcept {
        return std::chrono::nanoseconds(
            static_cast<std::int64_t>(trace::clock::nanoseconds(trace::clock::now() - start_)));
    }

private:
    trace::clock::ticks start_ = trace::clock::now();
};

/// A stopwatch for operations hardly longer than two clock reads: measures each thread's first one
/// and then 1 in 64, at random distances of 1 to 127 so that a periodic caller does not bias the
/// sample.
class sampled_stopwatch {
public:
    sampled_stopwatch() noexcept {
        if (is_next()) start_ = trace::clock::now();
    }
    [[nodiscard]] bool is_measuring() const noexcept { return start_ != 0; }
    /// Requires is_measuring().
    [[nodiscard]] std::chrono::nanoseconds elapsed() const noexcept {
        return std::chrono::nanoseconds(
            static_cast<std::int64_t>(trace::clock::nanoseconds(trace::clock::now() - start_)));
    }

private:
    static bool is_next() noexcept {
        detail::sampling& own = detail::own_sampling;
        if (own.left == 0) [[unlikely]]
            return detail::begin_next_distance();
        --own.left;
        return false;
    }

    trace::clock::ticks start_ = 0;
};

/// How a lookup ended. The store records hit_in_archive and miss; a caller that asks shared memory
/// first records hit_in_memory and known_miss, which needed no look into the store.
enum class lookup { hit_in_memory, hit_in_archive, miss, known_miss };

/// How often something took place and how long it took.
struct times_summary {
    std::uint64_t count = 0;    ///< exact
    std::uint64_t measured = 0; ///< of them; the following are of these
    std::uint64_t total_ns = 0; ///< estimated for all if not all were measured
    std::uint64_t p50_ns = 0;   ///< percentiles are at most 1/32 too long, never too short
    std::uint64_t p99_ns = 0;
    std::uint64_t p999_ns = 0;
    std::uint64_t longest_ns = 0;
};

/// A count that many threads add to. Each of the first 15 threads that look something up has a
/// cache line of its own, to which nobody else writes: a load and a store in place of an increment
/// that locks the line (1 ns in place of 5). All others share one, with such increments.
class sharded_count {
public:
    void add() noexcept {
        const std::uint32_t thread = detail::own_sampling.number;
        if (thread < shards_.size()) [[likely]] {
            auto& own = shards_[thread].count;
            own.store(own.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        } else {
            shards_[0].count.fetch_add(1, std::memory_order_relaxed); // threads count from 1
        }
    }
    [[nodiscard]] std::uint64_t value() const noexcept {
        std::uint64_t sum = 0;
        for (const shard& one : shards_)
            sum += one.count.load(std::memory_order_relaxed);
        return sum;
    }

private:
    struct alignas(64) shard {
        std::atomic<std::uint64_t> count{0};
    };
    std::array<shard, 16> shards_;
};

/// Lookups that ended in one way: all are counted, all or some of them measured.
class lookup_times {
public:
    void record(std::chrono::nanoseconds duration) noexcept { times_.record(duration); }
    void record(const sampled_stopwatch& watch) noexcept {
        watch.is_measuring() ? times_.record(watch.elapsed()) : passed_.add();
    }
    [[nodiscard]] std::uint64_t count() const noexcept { return passed_.value() + times_.count(); }
    [[nodiscard]] latency_reading measured() const noexcept { return times_.read(); }
    [[nodiscard]] times_summary summarized() const noexcept;

private:
    sharded_count passed_; ///< not measured
    latency_histogram times_;
};

/// What statistics said at one moment, for reports. Bytes are bytes.
struct statistics_summary {
    times_summary hits_in_memory;
    times_summary hits_in_archive;
    times_summary misses;
    times_summary known_misses;
    std::uint64_t failures = 0;

    std::uint64_t rows_put = 0;
    std::uint64_t rows_unchanged = 0;
    std::uint64_t rows_erased = 0;
    std::uint64_t bytes_put = 0;
    std::uint64_t record_bytes_put = 0;

    std::uint64_t objects_handed_over = 0;
    std::uint64_t largest_batch_rows = 0;
    std::uint64_t largest_batch_bytes = 0;
    times_summary encodings;
    times_summary batches;
    times_summary waits;
    times_summary removals;
    times_summary syncs;
};

/// What a store has done since it was opened. Thread-safety is that of latency_histogram; it may
/// lie in shared memory, as one may.
class statistics {
public:
    struct counter {
        std::atomic<std::uint64_t> value{0};
        void add(std::uint64_t amount) noexcept {
            value.fetch_add(amount, std::memory_order_relaxed);
        }
        /// Becomes `amount` if that is more.
        void raise_to(std::uint64_t amount) noexcept {
            std::uint64_t now = value.load(std::memory_order_relaxed);
            while (amount > now &&
                   !value.compare_exchange_weak(now, amount, std::memory_order_relaxed)) {
            }
        }
        operator std::uint64_t() const noexcept { return value.load(std::memory_order_relaxed); }
    };

    void record(lookup outcome, std::chrono::nanoseconds duration) noexcept {
        lookups_[static_cast<std::size_t>(outcome)].record(duration);
    }
    /// A hit in memory takes some 50 ns, as long as two clock reads: see sampled_stopwatch.
    void found_in_memory(const sampled_stopwatch& watch) noexcept {
        lookups_[static_cast<std::size_t>(lookup::hit_in_memory)].record(watch);
    }
    void missed_for_sure(const sampled_stopwatch& watch) noexcept {
        lookups_[static_cast<std::size_t>(lookup::known_miss)].record(watch);
    }
    [[nodiscard]] const lookup_times& lookups(lookup outcome) const noexcept {
        return lookups_[static_cast<std::size_t>(outcome)];
    }

    [[nodiscard]] statistics_summary summarized() const noexcept;

    counter rows_put;         ///< rows that were new, or replaced another content
    counter rows_unchanged;   ///< puts of a row that was there already, byte for byte
    counter rows_erased;      ///< erases of a row that was there
    counter bytes_put;        ///< records and keys of rows_put
    counter record_bytes_put; ///< records of rows_put
    counter failures;         ///< calls that threw because of the disk or damage

    counter objects_handed_over; ///< that left memory
    counter largest_batch_rows;  ///< of a batch: puts and erases
    counter largest_batch_bytes; ///< of a batch: its rows as they are kept

    // Of one batch each, so that their totals are what handing over took.
    latency_histogram encodings; ///< objects became rows, in the thread that changes the state
    latency_histogram batches;   ///< write(), in whatever thread
    latency_histogram waits;     ///< that thread waited until the batch before was written
    latency_histogram removals;  ///< objects left memory
    latency_histogram syncs;     ///< sync() and flush()

private:
    std::array<lookup_times, 4> lookups_;
};

/// The statistics of a store as other processes see them.
struct published_statistics {
    std::uint64_t process = 0; ///< that has, or had, the store open for writing
    std::int64_t opened = 0;   ///< Unix seconds
    std::int64_t closed = 0;   ///< Unix seconds; 0 while it runs, and if it was killed
    statistics_summary figures;
};

/// The statistics of a store: memory of this process, or, of a state's archive, the file
/// `statistics` in its folder, mapped, so that others see what a running process counts and what
/// one that ended had counted:
///
///     FOLDER/statistics    "chainbase archive statistics <layout>", process, opened, closed;
///                          `statistics` as they lie in memory
///
/// It costs the process nothing but some 90 KiB that the kernel writes back now and then. The file
/// is not part of the archive's data: no state relies on it, each opening for writing replaces it
/// by an empty one, and deleting it is harmless.
///
/// A thread-safe place for `statistics`; making and destroying one is not.
class statistics_page {
public:
    /// Private memory, not visible to other processes.
    statistics_page();
    /// In the folder, a private one, in place of the file that is there. Throws access_error,
    /// io_error, out_of_space_error.
    explicit statistics_page(const std::filesystem::path& folder);
    /// Records the time of closing, in the process that created it.
    ~statistics_page();
    statistics_page(const statistics_page&) = delete;
    statistics_page& operator=(const statistics_page&) = delete;

    [[nodiscard]] statistics& operator*() const noexcept;
    [[nodiscard]] statistics* operator->() const noexcept { return &**this; }

    /// Reads the file in this folder; nothing if there is none, or if this version does not know
    /// its layout. Throws access_error, io_error.
    [[nodiscard]] static std::optional<published_statistics>
    look(const std::filesystem::path& folder);

private:
    struct content;
    explicit statistics_page(int descriptor);

    process_of_origin origin_;
    content* at_;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "it lies in shared memory");
static_assert(std::is_trivially_destructible_v<statistics>, "nobody destroys it there");

} // namespace chainbase::archive
