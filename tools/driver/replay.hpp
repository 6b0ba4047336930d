#pragma once

#include <tools/chains/chain_model.hpp>
#include <tools/driver/replay_report.hpp>
#include <tools/driver/root/known_roots.hpp>
#include <tools/interruption.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

/// Replays a log, for the driver and the bench.
namespace chainbase::driver {

/// Operations of a step: enough to spread its fixed cost, few enough to stop soon.
inline constexpr std::size_t operations_per_step = 8192;

/// The number of blocks in the next step, at least one. Requires a waiting block.
[[nodiscard]] std::size_t step_of(run_of_blocks waiting);

/// Minimum of finished objects archived together within one block: few, so that no block takes much
/// longer than others.
inline constexpr std::size_t block_hand_over = 100;
/// The minimum within a step. The larger the archive, the larger the sorted files it gets, since it
/// merges files of similar size.
[[nodiscard]] std::size_t step_hand_over(const chain_model& model);
/// Maximum, and the batch size for the rest at the end.
inline constexpr std::size_t max_handed_over = 25'000;

/// Threads that prepare blocks: as many as asked for; for 0 one per processor except the applying
/// thread's, up to 4.
[[nodiscard]] unsigned preparing_threads(unsigned asked = 0) noexcept;

struct replay_options {
    std::filesystem::path block_log;
    std::filesystem::path state;
    /// The number of the first block to apply, as a check; nothing: the block after the state's
    /// head.
    std::optional<std::uint64_t> from;
    /// The number of the last block to apply; nothing: to the end of the log.
    std::optional<std::uint64_t> stop_at;
    /// Threads that read, check, unpack and decode blocks; 0: one per processor except the applying
    /// thread's.
    unsigned threads = 0;
    state_options state_settings;
    /// Check the chain's identities after every step, not only at the end.
    bool validate = false;
    /// Look up every object by id and by key when the replay stops.
    bool verify = false;
    /// Rebuild the root from all objects when the replay stops.
    bool verify_root = false;
    /// Compare roots with these, and stop behind the first block that differs.
    std::optional<known_roots> expected;
};

/// Applies the blocks of a log to a state, from the block after the state's head. They are
/// irreversible, so they are applied in steps of many, each undone as a whole by a kill; at the end
/// of the log all finished objects are archived.
///
/// Stops after the current step when a signal came; reads no record behind `stop_at`. Throws
/// usage_error when log and state do not belong together or the state is beyond `stop_at`;
/// damaged_error when the log is damaged, the money does not add up, or verify or verify_root finds
/// a fault; rejected_error naming block, transaction and operation; and what chain_state throws
/// when a disk refuses. The state is then at the last good block.
[[nodiscard]] replay_report replay(const replay_options& options,
                                   const catch_interruption& signals);

} // namespace chainbase::driver
