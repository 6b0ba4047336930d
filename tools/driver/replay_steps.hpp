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

/// Objects that leave memory within one block at most, so that no block takes long for others.
inline constexpr std::size_t block_hand_over_limit = 1000;
/// The same within a step.
inline constexpr std::size_t step_hand_over_limit = 10'000;

/// Threads that prepare blocks: as many as were asked for; if that is 0, one for each processor but
/// the one that applies, up to 4.
[[nodiscard]] unsigned preparing_threads(unsigned asked = 0) noexcept;

} // namespace chainbase::driver
