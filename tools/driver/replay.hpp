#pragma once

#include <tools/driver/replay_report.hpp>
#include <tools/interruption.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace chainbase::driver {

struct replay_options {
    std::filesystem::path block_log;
    std::filesystem::path state;
    /// The number of the last block to apply; nothing: to the end of the log.
    std::optional<std::uint64_t> stop_at;
    /// Blocks behind the head that can still be popped, while the log lasts.
    std::int64_t lag = 20;
    /// Look for every object by id and by key when the replay stops.
    bool verify = false;
};

/// Applies the blocks of a log to a state, from the block after the state's head on. At the end of
/// the log every block counts as irreversible and all that is finished is archived.
///
/// Stops after the block under way when a signal was noted; nothing of the log behind `stop_at` is
/// looked at. Throws usage_error when log and state do not belong together or the state is beyond
/// `stop_at`, damaged_error when the log is damaged, when the money does not add up or when verify
/// finds a fault, rejected_error naming block, transaction and operation, and what chain_state
/// throws for a disk that refuses. The state is then at the last good block.
[[nodiscard]] replay_report replay(const replay_options& options,
                                   const catch_interruption& signals);

} // namespace chainbase::driver
