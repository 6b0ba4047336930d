#pragma once

#include <archive/store.hpp>
#include <chainbase/database.hpp>
#include <tools/driver/bookkeeping.hpp>
#include <tools/driver/chain_state.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace chainbase {
class migration;
}

/// How the database of a chain_state is opened, and its archive.
namespace chainbase::driver::chain_opening {

[[nodiscard]] open_options how_to_open(const state_options& state_settings);
/// `to_now` is set if the state may be taken over, and outlives the opening.
[[nodiscard]] open_options how_to_take_over(const state_options& state_settings,
                                            const std::string& chain, migration& to_now);

/// Refuses a chain without a model before a state is made for it, and a state of another chain
/// before anything of it is migrated: opens a state to migrate with its archive first, and closes
/// it properly. Returns `folder`.
const std::filesystem::path& ready_to_open(const std::filesystem::path& folder,
                                           const std::string& chain,
                                           const state_options& state_settings);

/// The archive of a state of this chain, with the types that every chain has. It is made before the
/// first block: a missing one is never replaced. Throws usage_error when the state is of another
/// chain or program, and changes nothing then; damaged_error when the archive is missing.
[[nodiscard]] std::unique_ptr<archive::store> archive_of(database& state, const std::string& chain,
                                                         const state_options& state_settings);

/// Of the newest block; null before the first one.
[[nodiscard]] const applied_block* head_of(const database& state);

/// Ends the opening of a state without its archive. Does not close it after another process:
/// closing makes a checkpoint, which would rely on rows that were never synced.
void leave(database& state);

} // namespace chainbase::driver::chain_opening
