#pragma once

#include <chainbase/database.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace chainbase::driver::live {

/// What live mode and the harness measure time with.
using clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

[[nodiscard]] inline double seconds_of(nanoseconds duration) noexcept {
    return std::chrono::duration<double>(duration).count();
}
[[nodiscard]] inline double milliseconds_of(nanoseconds duration) noexcept {
    return std::chrono::duration<double, std::milli>(duration).count();
}

/// How often one thread took a database's write lock, waited for it and held it.
struct lock_figures {
    std::uint64_t acquisitions = 0;
    nanoseconds waited{0};
    nanoseconds held{0};
    nanoseconds longest_wait{0};
    nanoseconds longest_hold{0};

    void add(nanoseconds wait, nanoseconds hold) noexcept {
        ++acquisitions;
        waited += wait;
        held += hold;
        longest_wait = std::max(longest_wait, wait);
        longest_hold = std::max(longest_hold, hold);
    }
};

/// Calls work() under the write lock and counts what that took. Costs three looks at the clock.
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

/// How long many things took: a histogram whose buckets grow with what they count, each at most
/// 1/64 wide of where it begins. 30 KiB, whatever is recorded. For one thread.
class latencies {
public:
    void record(nanoseconds duration) noexcept {
        const auto ns = static_cast<std::uint64_t>(duration.count() > 0 ? duration.count() : 0);
        ++counts_[bucket_of(ns)];
        ++count_;
        if (ns > longest_) longest_ = ns;
    }
    /// Adds what another one recorded.
    void add(const latencies& other) noexcept;

    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    /// What a share (0 to 1) of all did not exceed: the end of the bucket it falls in, and never
    /// more than longest(). 0 without any.
    [[nodiscard]] nanoseconds quantile(double share) const noexcept;
    /// Exact.
    [[nodiscard]] nanoseconds longest() const noexcept {
        return nanoseconds(static_cast<std::int64_t>(longest_));
    }
    /// How many took at most this long, to the width of a bucket.
    [[nodiscard]] std::uint64_t up_to(nanoseconds limit) const noexcept;

private:
    static constexpr unsigned bits = 6; ///< of precision

    [[nodiscard]] static std::size_t bucket_of(std::uint64_t ns) noexcept;
    /// The largest number that falls in a bucket.
    [[nodiscard]] static std::uint64_t end_of(std::size_t bucket) noexcept;

    std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>((65 - bits) << bits);
    std::uint64_t count_ = 0;
    std::uint64_t longest_ = 0;
};

} // namespace chainbase::driver::live
