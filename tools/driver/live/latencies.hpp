#pragma once

#include <tools/driver/live/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace chainbase::driver::live {

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
