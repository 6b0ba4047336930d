#pragma once

#include <tools/chains/decoded_block.hpp>
#include <tools/driver/live/clock.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace chainbase::driver::live {

/// Transactions that arrive together: consecutive ones of a decoded block, which they share.
struct parcel {
    std::shared_ptr<const decoded_block> from;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    clock::time_point due{}; ///< when the first of them was to arrive
    nanoseconds apart{0};    ///< and how much later each one that follows
};

/// Transactions on their way from those who send them to the thread that applies: any number of
/// threads push, one takes. Invariant: at most `most` transactions wait.
class arrivals {
public:
    explicit arrivals(std::size_t most) : most_(most) {}

    /// Returns whether there was room for all of it; refused ones are counted and forgotten.
    bool push(parcel one);

    /// Moves all that wait to the end of `into`.
    void take(std::vector<parcel>& into);
    /// Waits until something is there, at most until `until`.
    void wait(clock::time_point until);

    /// Transactions.
    [[nodiscard]] std::size_t waiting() const;
    [[nodiscard]] std::uint64_t refused() const;

private:
    const std::size_t most_;
    mutable std::mutex mutex_;
    std::condition_variable arrived_;
    std::vector<parcel> parcels_;
    std::size_t waiting_ = 0;
    std::uint64_t refused_ = 0;
    bool is_waited_for_ = false;
};

} // namespace chainbase::driver::live
