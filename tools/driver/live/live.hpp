#pragma once

#include <tools/driver/chain_state.hpp>
#include <tools/driver/live/latencies.hpp>
#include <tools/driver/live/live_node.hpp>
#include <tools/driver/live/readers.hpp>
#include <tools/driver/sync/following.hpp>
#include <tools/interruption.hpp>

#include <boost/describe/class.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace chainbase::driver::live {

/// What a node did, and its state's position.
struct live_report {
    std::string chain;
    std::uint64_t head = 0;
    std::uint64_t irreversible = 0;
    std::uint64_t blocks = 0;     ///< of this run
    std::uint64_t operations = 0; ///< in them
    double seconds = 0;
    bool interrupted = false;
    pending_figures pending;
    following_figures sync;
    lock_use write_lock;
    latencies block_times; ///< dropping pending transactions and applying
    latencies reader_times;
    std::uint64_t segment_bytes = 0;
    std::optional<std::string> log_cut;      ///< "the log is cut: ...": as in replay_report
    std::optional<std::string> state_digest; ///< nothing when interrupted

    [[nodiscard]] double ops_per_second() const noexcept {
        return std::round(per_second(operations, seconds));
    }
};
BOOST_DESCRIBE_STRUCT(live_report, (),
                      (chain, head, irreversible, blocks, operations, seconds, ops_per_second,
                       interrupted, pending, sync, write_lock, block_times, reader_times,
                       segment_bytes, log_cut, state_digest))
[[nodiscard]] std::string to_text(const live_report& report);

struct live_options : following_options {
    readers::options reading;
    batching batch;
    std::size_t pending = 1000;           ///< transactions of coming blocks that arrive early
    std::optional<std::uint64_t> shuffle; ///< seed of their shuffled order
    nanoseconds interval{0};              ///< between blocks; 0: as fast as they come
    nanoseconds budget{std::chrono::milliseconds(200)}; ///< for applying pending transactions again
};

/// Runs a node: blocks of peers or of a log come one by one, each in its own session that can be
/// popped, some of their transactions before them, while readers query. Follows the longest branch
/// as sync does; the transactions of a popped block become pending again. Continues from the
/// state's head.
///
/// Stops after the current block when a signal came. At the end of a log (of a peer's chain, with
/// `once`) everything is made irreversible, as in sync and replay, so that all end in the same
/// state. Throws as sync.
[[nodiscard]] live_report live(const live_options& options, const catch_interruption& signals);

} // namespace chainbase::driver::live
