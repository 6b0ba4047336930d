#pragma once

#include <tools/driver/replay_report.hpp>
#include <tools/driver/root/known_roots.hpp>
#include <tools/interruption.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace chainbase::driver {

struct replay_options {
    std::filesystem::path block_log;
    std::filesystem::path state;
    /// The number of the first block to apply, for who wants to be sure; nothing: the one that
    /// follows the state's head.
    std::optional<std::uint64_t> from;
    /// The number of the last block to apply; nothing: to the end of the log.
    std::optional<std::uint64_t> stop_at;
    /// Threads that read, check, unpack and decode blocks; 0: as many as the machine has beside the
    /// one that applies.
    unsigned threads = 0;
    promise_options promise;
    /// Check the chain's identities after every step, not only at the end.
    bool validate = false;
    /// Look for every object by id and by key when the replay stops.
    bool verify = false;
    /// Make the root anew from all objects when the replay stops.
    bool verify_root = false;
    /// Compare the root of each block that these have, and stop behind the first that differs.
    std::optional<known_roots> expected;
};

/// Applies the blocks of a log to a state, from the block after the state's head on. They are
/// irreversible, so they are applied in steps of many, each of which a kill takes back as a whole;
/// at the end of the log all that is finished is archived.
///
/// Stops after the step under way when a signal was noted; no record of the log behind `stop_at` is
/// looked at. Throws usage_error when log and state do not belong together or the state is beyond
/// `stop_at`, damaged_error when the log is damaged, when the money does not add up or when verify
/// or verify_root finds a fault, rejected_error naming block, transaction and operation, and what
/// chain_state throws for a disk that refuses. The state is then at the last good block.
[[nodiscard]] replay_report replay(const replay_options& options,
                                   const catch_interruption& signals);

} // namespace chainbase::driver
