#pragma once

#include <tools/driver/live/live_report.hpp>
#include <tools/interruption.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace chainbase::driver::live {

struct live_options {
    std::filesystem::path block_log;
    std::filesystem::path state;
    readers::options reading;
    batching batch;
    std::size_t pending = 1000;           ///< transactions of coming blocks that arrive early
    std::optional<std::uint64_t> shuffle; ///< they arrive in an order of this seed
    nanoseconds interval{0};              ///< between blocks; 0: as fast as it goes
    nanoseconds budget{std::chrono::milliseconds(200)}; ///< for applying what is pending again
    std::int64_t lag = 20;
    std::optional<std::uint64_t> stop_at; ///< the last block to apply; nothing: to the log's end
};

/// Runs a node: blocks of the log come one by one, each in a session of its own that can be popped,
/// some of their transactions before them, and readers ask at the same time. Goes on from where the
/// state stands.
///
/// Stops after the block under way when a signal was noted. At the end of the log everything is
/// made irreversible, as replay does, so that both come to the same state. Throws as replay.
[[nodiscard]] live_report live(const live_options& options, const catch_interruption& signals);

} // namespace chainbase::driver::live
