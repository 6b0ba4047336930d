#pragma once

#include <tools/chains/chain_model.hpp>
#include <tools/driver/replay_report.hpp>
#include <tools/driver/root/known_roots.hpp>
#include <tools/interruption.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

/// How a log is replayed: what the driver does and the bench measures.
namespace chainbase::driver {

/// Enough to spread what a step costs over many operations, and little enough to be done soon when
/// it is to stop.
inline constexpr std::size_t operations_per_step = 8192;

/// How many blocks, at least one, make the next step. Requires that there are some.
[[nodiscard]] std::size_t step_of(run_of_blocks waiting);

/// Finished objects that leave memory together, at least: within one block few, so that it takes no
/// longer than others by much.
inline constexpr std::size_t block_hand_over = 100;
/// The same within a step: the more the archive has the larger are the sorted files that it gets,
/// since files are merged with those of their size.
[[nodiscard]] std::size_t step_hand_over(const chain_model& model);
/// At most, and with what is left at the end.
inline constexpr std::size_t most_handed_over = 25'000;

/// Threads that prepare blocks: as many as were asked for; if that is 0, one for each processor but
/// the one that applies, up to 4.
[[nodiscard]] unsigned preparing_threads(unsigned asked = 0) noexcept;

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
