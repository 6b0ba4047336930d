#pragma once

#include <tools/bench/chain_engine.hpp>
#include <tools/bench/chain_log.hpp>

#include <cstdint>
#include <memory>
#include <vector>

/// What a node does with a chain, over any engine: the timed loops of the chain bench, one and the
/// same for all. Each throws what reading the log and applying a block throws, and error when it
/// was interrupted.
namespace chainbase::bench {

/// Blocks can be popped for so many blocks behind the head.
inline constexpr std::int64_t blocks_to_irreversible = 20;

enum class stepping {
    without_sessions,
    in_sessions, ///< one per step, committed at once: a kill returns to the step before
};

struct replay_times {
    double ns = 0;         ///< from the first block asked for to the last one applied
    double helping_ns = 0; ///< of that, preparing blocks in place of waiting for them
    double waiting_ns = 0; ///< of that, for blocks that were not prepared yet
};

/// Applies the whole log in the driver's steps; other threads read, unpack and decode it.
[[nodiscard]] replay_times replay(chain_engine& engine, const chain_log& log, stepping how);

/// Applies blocks that are there already, likewise.
void replay(chain_engine& engine, run_of_blocks blocks, stepping how);

/// Applies the blocks before log.live_from, prepared in the same way, each in a session that is
/// committed when it is blocks_to_irreversible behind. Returns the time in ns.
[[nodiscard]] double sync(chain_engine& engine, const chain_log& log);

struct live_times {
    double ns = 0;              ///< of all blocks
    double pending_ns = 0;      ///< of that, for pending transactions
    std::uint64_t pending = 0;  ///< transactions that were applied as pending, counted each
                                ///< time
    std::uint64_t rejected = 0; ///< of these, refused
};

/// Goes on where sync() ended. Before each of the live blocks the next `pending` transactions of
/// the log (those of the block itself and of the ones behind it) are applied as pending: an outer
/// session, and in it one for each transaction, squashed into the outer when it is applied and
/// undone when it is rejected. All of it is undone, the block is applied as in sync(), and the
/// next round begins. So a transaction is applied again and again until its block comes.
///
/// The blocks are decoded before anything is timed. Those behind the live ones are applied at the
/// end, untimed: the state is then that of the whole log.
[[nodiscard]] live_times live(chain_engine& engine, const chain_log& log, std::uint64_t pending);

} // namespace chainbase::bench
