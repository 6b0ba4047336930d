#pragma once

#include <chainbase/bulk_load/new_state.hpp>
#include <chainbase/bulk_load/segment_replacement.hpp>
#include <chainbase/check/report.hpp>
#include <tools/inspect/memory/state_report.hpp>

#include <filesystem>
#include <string>

namespace chainbase::inspect {

/// Throws locked_error when a process has the state open for writing, unclean_error when its writer
/// died.
void require_at_rest(const state_report& state);

/// Throws damaged_error when `check` finds anything in a state that was made anew.
void require_sound(const std::filesystem::path& made);

/// If the state has checkpoints: makes one of what is there now, since the last one has what was
/// there before. Throws what opening it for writing throws.
void renew_checkpoint(const std::filesystem::path& state);

/// Makes a checkpoint of a state that nobody has open. Throws what opening it for writing throws.
void make_checkpoint(const std::filesystem::path& state);

/// A name that nothing has: "a/segment.damaged.1" for "a/segment.damaged".
[[nodiscard]] std::filesystem::path unused_name(const std::filesystem::path& begin);

/// Where to keep the segment of a state that is damaged: beside it, in the state's folder; of one
/// in memory beside its home, which goes when another one is made. Throws as segment_place does.
[[nodiscard]] std::filesystem::path place_for_damaged_segment(const std::filesystem::path& state);

/// The first findings of a report, a line each.
[[nodiscard]] std::string first_findings(const check::part_report& report, std::size_t most);

} // namespace chainbase::inspect
