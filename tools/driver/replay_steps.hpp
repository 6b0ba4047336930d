#pragma once

#include <tools/chains/chain_model.hpp>

#include <cstddef>

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

} // namespace chainbase::driver
