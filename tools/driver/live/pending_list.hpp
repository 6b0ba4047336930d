#pragma once

#include <tools/chains/decoded_block.hpp>
#include <tools/driver/live/latencies.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace chainbase::driver::live {

/// Transactions that arrive together: consecutive ones of a shared decoded block.
struct parcel {
    std::shared_ptr<const decoded_block> from;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    clock::time_point due{}; ///< arrival time of the first
    nanoseconds apart{0};    ///< interval between their arrivals
};

/// A queue of transactions from the senders to the applying thread: any number of threads push, one
/// takes. Invariant: at most `most` transactions wait.
class arrivals {
public:
    explicit arrivals(std::size_t most) : most_(most) {}

    /// Returns whether the whole parcel fitted; refused ones are counted and dropped.
    bool push(parcel one);

    /// Moves all that wait to the end of `into`.
    void take(std::vector<parcel>& into);
    /// Waits until the queue is not empty, at most until `until`.
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

/// Pending transactions in the order of their arrival: first those applied to the state, then those
/// that wait.
///
///     [ applied ... | gap | waiting ... ]
///
/// 16 bytes each; the reference to a decoded block is kept once per parcel, so that moving a
/// transaction touches no counter shared with other threads. For one thread.
class pending_list {
public:
    struct entry {
        std::uint32_t parcel; ///< its parcel
        std::uint32_t transaction;
        std::int64_t due; ///< clock time in nanoseconds
    };

    /// Appends waiting transactions. `blocks`: the chain's number of blocks.
    void add(const parcel& arrived, std::uint64_t blocks);
    /// Puts the transactions of a popped block before all others. Requires that none is applied.
    void put_back(std::shared_ptr<const decoded_block> popped, std::uint64_t blocks);

    [[nodiscard]] std::size_t size() const noexcept { return applied_ + waiting(); }
    [[nodiscard]] std::size_t applied() const noexcept { return applied_; }
    [[nodiscard]] std::size_t waiting() const noexcept { return entries_.size() - next_; }
    [[nodiscard]] std::span<const entry> those_applied() const noexcept {
        return std::span(entries_).first(applied_);
    }
    [[nodiscard]] std::span<const entry> those_waiting() const noexcept {
        return std::span(entries_).subspan(next_);
    }
    [[nodiscard]] const decoded_block& block_of(const entry& one) const noexcept {
        return *parcels_[one.parcel].from;
    }

    /// Marks the first waiting transaction as applied; drop_next() drops it. Requires one that
    /// waits.
    void keep_next() noexcept { entries_[applied_++] = entries_[next_++]; }
    void drop_next() noexcept {
        release(entries_[next_++]);
        if (next_ - applied_ > large_gap && 2 * (next_ - applied_) > entries_.size()) close_gap();
    }

    /// Nothing is applied any more: all of them wait.
    void reset();
    /// As reset(), and removes those, in order, for which leaves(entry) is true.
    template <typename Leaves>
    void reset_without(Leaves&& leaves);
    /// As reset(), and returns those that were applied.
    [[nodiscard]] std::vector<entry> take_applied();

    /// The chain's number of blocks when it arrived.
    [[nodiscard]] std::uint64_t arrived_at(const entry& one) const noexcept {
        return parcels_[one.parcel].blocks;
    }

private:
    struct kept_parcel {
        std::shared_ptr<const decoded_block> from;
        std::uint64_t blocks;
        std::uint32_t left; ///< its transactions still in the list
    };

    [[nodiscard]] std::uint32_t keep(std::shared_ptr<const decoded_block> from, std::uint32_t count,
                                     std::uint64_t blocks);
    void release(const entry& one) noexcept;
    void close_gap() noexcept;

    static constexpr std::size_t large_gap = 4096;

    std::vector<entry> entries_;
    std::size_t applied_ = 0;
    std::size_t next_ = 0; ///< the first that waits
    std::vector<kept_parcel> parcels_;
    std::vector<std::uint32_t> free_parcels_; ///< reserved for all of parcels_
};

template <typename Leaves>
void pending_list::reset_without(Leaves&& leaves) {
    reset();
    std::size_t kept = 0;
    for (const entry& one : entries_) {
        if (leaves(one))
            release(one);
        else
            entries_[kept++] = one;
    }
    entries_.resize(kept);
}

} // namespace chainbase::driver::live
