#pragma once

#include <chainbase/database.hpp>
#include <pool_allocator/trace/trace_histogram.hpp>

#include <boost/describe/class.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace chainbase::driver::live {

/// The clock of live mode and the harness.
using clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

[[nodiscard]] inline double seconds_of(nanoseconds duration) noexcept {
    return std::chrono::duration<double>(duration).count();
}
[[nodiscard]] inline double milliseconds_of(nanoseconds duration) noexcept {
    return std::chrono::duration<double, std::milli>(duration).count();
}

/// Milliseconds to the microsecond.
[[nodiscard]] inline double rounded_ms(nanoseconds duration) noexcept {
    return static_cast<double>((duration.count() + 500) / 1000) / 1000;
}
/// Rate per second; 0 without time.
[[nodiscard]] inline double per_second(std::uint64_t count, double seconds) noexcept {
    return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

/// A thread's use of a lock.
struct lock_use {
    std::uint64_t acquisitions = 0;
    double acquisitions_per_second = 0;
    double waited_share = 0; ///< share of the time
    double held_share = 0;
    double longest_wait_ms = 0;
    double longest_hold_ms = 0;
};
BOOST_DESCRIBE_STRUCT(lock_use, (),
                      (acquisitions, acquisitions_per_second, waited_share, held_share,
                       longest_wait_ms, longest_hold_ms))

/// How often one thread took a database's write lock, and how long it waited for it and held it.
struct lock_figures {
    std::uint64_t acquisitions = 0;
    nanoseconds waited{0};
    nanoseconds held{0};
    nanoseconds longest_wait{0};
    nanoseconds longest_hold{0};

    [[nodiscard]] lock_use in(double seconds) const noexcept;
    void add(nanoseconds wait, nanoseconds hold) noexcept {
        ++acquisitions;
        waited += wait;
        held += hold;
        longest_wait = std::max(longest_wait, wait);
        longest_hold = std::max(longest_hold, hold);
    }
};

/// Calls work() under the write lock and records its use. Costs three clock reads.
template <typename Work>
void with_metered_lock(database& state, lock_figures& figures, Work&& work) {
    const auto asked = clock::now();
    auto begin = asked;
    state.with_write_lock([&] {
        begin = clock::now();
        std::forward<Work>(work)();
    });
    figures.add(begin - asked, clock::now() - begin);
}

/// A latency histogram with buckets at most 1/64 of their start wide. Takes 18 KiB. For one thread.
class latencies {
public:
    void record(nanoseconds duration) noexcept {
        const auto ns = static_cast<std::uint64_t>(duration.count() > 0 ? duration.count() : 0);
        counts_.add(buckets::bucket_of(ns), 1);
        ++count_;
        longest_ = std::max(longest_, ns);
    }
    /// Adds another histogram.
    void add(const latencies& other) noexcept {
        counts_.add(other.counts_);
        count_ += other.count_;
        longest_ = std::max(longest_, other.longest_);
    }

    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    /// The latency that a share (0 to 1) of all did not exceed: the end of its bucket, at most
    /// longest(). 0 without any.
    [[nodiscard]] nanoseconds quantile(double share) const noexcept {
        return nanoseconds(static_cast<std::int64_t>(counts_.quantile(share, longest_)));
    }
    /// Exact.
    [[nodiscard]] nanoseconds longest() const noexcept {
        return nanoseconds(static_cast<std::int64_t>(longest_));
    }
    /// How many took at most this long, to bucket precision.
    [[nodiscard]] std::uint64_t up_to(nanoseconds limit) const noexcept {
        if (limit.count() < 0) return 0;
        const auto ns = static_cast<std::uint64_t>(limit.count());
        const std::size_t last = buckets::bucket_of(ns);
        std::uint64_t sum = 0;
        for (std::size_t bucket = 0; bucket <= last; ++bucket)
            sum += counts_.in_bucket(bucket);
        return sum;
    }

    /// @name For reports, to microseconds
    /// @{
    [[nodiscard]] double p50_ms() const noexcept { return rounded_ms(quantile(0.5)); }
    [[nodiscard]] double p90_ms() const noexcept { return rounded_ms(quantile(0.9)); }
    [[nodiscard]] double p99_ms() const noexcept { return rounded_ms(quantile(0.99)); }
    [[nodiscard]] double p99_9_ms() const noexcept { return rounded_ms(quantile(0.999)); }
    [[nodiscard]] double max_ms() const noexcept { return rounded_ms(longest()); }
    /// @}
    BOOST_DESCRIBE_CLASS(latencies, (), (count, p50_ms, p90_ms, p99_ms, p99_9_ms, max_ms), (), ())

private:
    using buckets = trace::counted_buckets<6>;

    buckets counts_;
    std::uint64_t count_ = 0;
    std::uint64_t longest_ = 0;
};

/// "p50 0.1, p90 0.2, ... ms".
[[nodiscard]] std::string in_words(const latencies& all);
[[nodiscard]] std::string in_words(const lock_use& lock);

} // namespace chainbase::driver::live
