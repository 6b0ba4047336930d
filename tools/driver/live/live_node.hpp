#pragma once

#include <tools/driver/chain_state.hpp>
#include <tools/driver/live/latencies.hpp>
#include <tools/driver/live/pending_list.hpp>

#include <boost/describe/class.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace chainbase::driver::live {

/// How much is done each time the write lock is taken. README.md shows what it does to waiting.
struct batching {
    /// Transactions at most; 0: all that wait.
    std::size_t transactions = 0;
    /// And no longer than this.
    nanoseconds time = std::chrono::milliseconds(5);
};

/// What a node did with transactions that were in no block, counted.
struct pending_figures {
    std::uint64_t arrived = 0;
    std::uint64_t refused = 0;   ///< as there was no room for them: arrivals counts these
    std::uint64_t applied = 0;   ///< to the head, the ones again too
    std::uint64_t rejected = 0;  ///< and forgotten
    std::uint64_t included = 0;  ///< left, as a block had them
    std::uint64_t forgotten = 0; ///< left, as no block ever had them
    std::uint64_t returned = 0;  ///< came back from a block that was popped
};
BOOST_DESCRIBE_STRUCT(pending_figures, (),
                      (arrived, refused, applied, rejected, included, forgotten, returned))

struct live_figures : pending_figures {
    std::uint64_t blocks = 0;
    lock_figures lock;
};

/// A block that was made of pending transactions.
struct made_block {
    std::uint64_t number = 0;
    std::vector<pending_list::entry> included; ///< in order; for when they were due only
    std::vector<std::uint64_t> checksums;      ///< of these transactions
    std::uint64_t rejected = 0;                ///< that were to be in it
    nanoseconds time{0};                       ///< from dropping what is pending to its end
};

/// What a node does between and with blocks: transactions that arrive are applied over the head,
/// each in a nested session; a block drops them all, and those that it does not hold are applied
/// again.
///
///     arrivals ->  waiting  --work()-->  applied (pending sessions)  --make_block()-->  a block
///                     ^                     |
///                     '---- apply(), pop(), make_block(): those that are in no block
///
/// Invariants: (1) readers under the read lock see the state after whole transactions, with a
/// block's as a whole; (2) nothing is taken from the arrivals while `most_pending` transactions are
/// kept, and each leaves after `forget_after` blocks; (3) what is pending never changes what blocks
/// come to.
///
/// For the thread that writes the state; arrivals come from any.
class live_node {
public:
    struct options {
        batching batch;
        std::size_t most_pending = std::size_t{1} << 20;
        std::uint64_t forget_after = 1000; ///< blocks
    };

    live_node(chain_state& state, arrivals& from, const options& how)
        : state_(state), from_(from), how_(how) {}
    /// Drops what is pending.
    ~live_node();
    live_node(const live_node&) = delete;
    live_node& operator=(const live_node&) = delete;

    /// Applies what arrived and what waits, in order, a batch for each time it takes the lock.
    /// Returns when nothing waits or, with what is left waiting, at `until`; nothing is applied
    /// when that has passed.
    void work(clock::time_point until);

    /// Applies a block from outside; those of its transactions that are pending leave. A
    /// transaction that is twice in the list leaves once for each time that the block holds it.
    /// Throws as chain_state::apply; nothing is applied then, and all wait again.
    void apply(const decoded_block& next);
    /// Makes the next block of all that is applied, each transaction in a nested session. Throws as
    /// chain_state::begin_block.
    [[nodiscard]] made_block make_block(std::int64_t timestamp);
    /// Takes the last block back; its transactions wait again, before all others. `last` is its
    /// content; when it is null, they are lost.
    void pop(std::shared_ptr<const decoded_block> last);
    /// Takes all that is applied back; it waits again.
    void drop();

    [[nodiscard]] const pending_list& pending() const noexcept { return pending_; }
    [[nodiscard]] const live_figures& figures() const noexcept { return figures_; }

private:
    void take_arrivals();
    void apply_batch(clock::time_point until);
    void apply_next();
    void prefetch();
    std::vector<bool> add_to_block(made_block& made);
    void reset();

    chain_state& state_;
    arrivals& from_;
    options how_;
    pending_list pending_;
    std::vector<parcel> arrived_;
    std::size_t keys_asked_ = 0; ///< of those that wait, from the first on
    std::size_t objects_asked_ = 0;
    std::size_t ids_asked_ = 0;
    live_figures figures_;
};

} // namespace chainbase::driver::live
