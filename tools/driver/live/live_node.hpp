#pragma once

#include <tools/driver/chain_state.hpp>
#include <tools/driver/live/latencies.hpp>
#include <tools/driver/live/pending_list.hpp>

#include <boost/describe/class.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace chainbase::driver::live {

/// How much is done per write lock. README.md shows the effect on waiting.
struct batching {
    /// Maximum of transactions; 0: all that wait.
    std::size_t transactions = 0;
    /// Maximum time.
    nanoseconds time = std::chrono::milliseconds(5);
};

/// Counters of a node's pending transactions.
struct pending_figures {
    std::uint64_t arrived = 0;
    std::uint64_t refused = 0;   ///< queue full; counted by arrivals
    std::uint64_t applied = 0;   ///< to the head, including repetitions
    std::uint64_t rejected = 0;  ///< and dropped
    std::uint64_t included = 0;  ///< removed because a block had them
    std::uint64_t forgotten = 0; ///< removed because no block ever had them
    std::uint64_t returned = 0;  ///< came back from a popped block
};
BOOST_DESCRIBE_STRUCT(pending_figures, (),
                      (arrived, refused, applied, rejected, included, forgotten, returned))

struct live_figures : pending_figures {
    std::uint64_t blocks = 0;
    lock_figures lock;
};

/// A block made of pending transactions.
struct made_block {
    std::uint64_t number = 0;
    std::vector<pending_list::entry> included; ///< in order; only their due times are used
    std::vector<std::uint64_t> checksums;      ///< of these transactions
    std::uint64_t rejected = 0;                ///< transactions meant for it and rejected
    nanoseconds time{0};                       ///< from dropping pending transactions to its end
};

/// Handles pending transactions between and with blocks: arriving transactions are applied over the
/// head, each in a nested session; a block drops them all, and those not in it are applied again.
///
///     arrivals ->  waiting  --work()-->  applied (pending sessions)  --make_block()-->  a block
///                     ^                     |
/// '---- apply(), pop(), make_block(): those not in a block
///
/// Invariants: (1) readers under the read lock see the state after whole transactions and whole
/// blocks; (2) no arrivals are taken while `max_pending` transactions are kept, and each is dropped
/// after `forget_after` blocks; (3) pending transactions never change the result of blocks.
///
/// For the writer thread; arrivals come from any thread.
class live_node {
public:
    struct options {
        batching batch;
        std::size_t max_pending = std::size_t{1} << 20;
        std::uint64_t forget_after = 1000; ///< blocks
    };

    live_node(chain_state& state, arrivals& from, const options& how)
        : state_(state), from_(from), how_(how) {}
    /// Drops pending transactions.
    ~live_node();
    live_node(const live_node&) = delete;
    live_node& operator=(const live_node&) = delete;

    /// Applies arrived and waiting transactions in order, one batch per lock. Returns when nothing
    /// waits, or at `until`; applies nothing if that has passed.
    void work(clock::time_point until);

    /// Applies a block from outside; its transactions stop being pending. A transaction that is
    /// twice in the list is removed once for each occurrence in the block. Throws as
    /// chain_state::apply; then nothing is applied, and all wait again.
    void apply(const decoded_block& next);
    /// Makes the next block of all applied transactions, each in a nested session. Throws as
    /// chain_state::begin_block.
    [[nodiscard]] made_block make_block(std::int64_t timestamp);
    /// Pops the last block; its transactions wait again, before all others. `last` is its content;
    /// if null, they are lost.
    void pop(std::shared_ptr<const decoded_block> last);
    /// Undoes all applied transactions; they wait again.
    void drop();

    [[nodiscard]] const pending_list& pending() const noexcept { return pending_; }
    [[nodiscard]] const live_figures& figures() const noexcept { return figures_; }

private:
    void take_arrivals();
    void apply_batch(clock::time_point until);
    void apply_next();
    void look_ahead();
    std::vector<bool> add_to_block(made_block& made);
    void reset();

    chain_state& state_;
    arrivals& from_;
    options how_;
    pending_list pending_;
    std::vector<parcel> arrived_;
    std::size_t looked_up_ = 0; ///< waiting transactions whose keys were looked up
    live_figures figures_;
};

} // namespace chainbase::driver::live
