#pragma once

#include <chainbase/offline/bulk_load/new_state.hpp>
#include <chainbase/offline/bulk_load/segment_replacement.hpp>
#include <chainbase/offline/check/report.hpp>
#include <tools/inspect/memory/state_report.hpp>

#include <filesystem>
#include <string>

namespace chainbase::inspect {

/// Finishes loading a type with the objects of `state`. Throws damaged_error, with what to do, when
/// `to` refuses them.
void finish(bulk_load::object_loader& to, std::uint32_t next_id,
            const bulk_load::key_orders& orders, const std::filesystem::path& state);

/// Throws locked_error when a process has the state open for writing, unclean_error when its writer
/// died.
void require_at_rest(const state_report& state);

/// Throws damaged_error when `check` finds a fault in a rebuilt state.
void require_sound(const std::filesystem::path& made);

/// As require_sound(), for a segment restored from a checkpoint; the replaced one is at `kept`.
void require_sound_checkpoint(const std::filesystem::path& state,
                              const std::filesystem::path& kept);

/// If the state has checkpoints, makes a new one, since the last one describes the old segment.
/// Throws what opening it for writing throws.
void renew_checkpoint(const std::filesystem::path& state);

/// Makes a checkpoint of a state that no process has open. Throws what opening it for writing
/// throws.
void make_checkpoint(const std::filesystem::path& state);

/// An unused name: "a/segment.damaged.1" for "a/segment.damaged".
[[nodiscard]] std::filesystem::path unused_name(const std::filesystem::path& begin);

/// Where to move a damaged segment: beside it, in the state's folder; a segment in memory beside
/// its own folder, which is removed when another one is made. Throws as segment_place.
[[nodiscard]] std::filesystem::path place_for_damaged_segment(const std::filesystem::path& state);

/// The first findings of a report, one per line.
[[nodiscard]] std::string first_findings(const check::part_report& report, std::size_t most);

} // namespace chainbase::inspect
