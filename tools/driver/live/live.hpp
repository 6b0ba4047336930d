#pragma once

#include <tools/driver/live/live_report.hpp>
#include <tools/interruption.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace chainbase::driver::live {

struct live_options : following_options {
    readers::options reading;
    batching batch;
    std::size_t pending = 1000;           ///< transactions of coming blocks that arrive early
    std::optional<std::uint64_t> shuffle; ///< they arrive in an order of this seed
    nanoseconds interval{0};              ///< between blocks; 0: as fast as they come
    nanoseconds budget{std::chrono::milliseconds(200)}; ///< for applying what is pending again
};

/// Runs a node: blocks of peers or of a log come one by one, each in a session of its own that can
/// be popped, some of their transactions before them, and readers ask at the same time. Follows the
/// longest branch as sync does; the transactions of a block that is popped are pending again. Goes
/// on from where the state stands.
///
/// Stops after the block under way when a signal was noted. At the end of a log (of a peer's chain,
/// with `once`) everything is made irreversible, as sync and replay do, so that all come to the
/// same state. Throws as sync.
[[nodiscard]] live_report live(const live_options& options, const catch_interruption& signals);

} // namespace chainbase::driver::live
