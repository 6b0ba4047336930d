#pragma once

#include <chainbase/bulk_load/key_loaders.hpp>
#include <chainbase/check/state_check.hpp>
#include <tools/exit_code.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// What of one type of a state, sound or not, can still be read.
struct rescued_type {
    const check::type_check* from = nullptr;
    std::vector<slot_number> slots;      ///< of objects all of whose fields can be read, by id
    std::vector<std::uint32_t> lost;     ///< ids of those of which a text or vector is nowhere
    std::vector<std::uint32_t> doubtful; ///< ids of those that can be read, and `check` found
                                         ///< something about them: bytes of them may be wrong
    bulk_load::key_orders orders;        ///< of keys that a function computes
    std::string why_no_orders;           ///< why not of all; empty otherwise
};

/// Of all types that `check` could tell something of. `state` outlives it, and is mapped.
[[nodiscard]] std::vector<rescued_type> rescue(const check::state_check& state);

/// Types of which nothing can be told: their files could not be opened.
[[nodiscard]] std::vector<std::string> lost_types(const check::state_check& state);

/// Where a state can be taken from when its segment is damaged, and what each way would lose; or,
/// when only its checkpoints are, that they can be made again.
struct repair_plan {
    enum class way {
        nothing,     ///< it is sound
        objects,     ///< the segment made anew from what can be read of it
        checkpoint,  ///< the segment set aside, so that opening restores the checkpoint
        checkpoints, ///< the checkpoints set aside, and one made of the segment, which is sound
        none,        ///< nothing of that can be
        copy,        ///< the segment as it is, although it is a copy: nobody wrote meanwhile
    };
    /// What the segment still holds.
    struct objects_found {
        std::uint64_t kept = 0;
        std::uint64_t lost = 0;             ///< objects that cannot be read
        std::uint64_t doubtful = 0;         ///< among those kept: bytes of them may be wrong
        std::uint64_t no_longer_undone = 0; ///< blocks that could not be undone any more
        std::int64_t revision = 0;
    };
    /// What a restore gives.
    struct checkpoint_found {
        std::uint64_t generation = 0;
        std::int64_t revision = 0; ///< with the blocks of the redo log
    };

    way best = way::nothing;
    std::uint64_t findings = 0;            ///< of the segment
    std::uint64_t checkpoint_findings = 0; ///< of the checkpoints and the redo log
    std::string checkpoint_damage;         ///< the first of them
    std::vector<std::string> refused;      ///< files that opening refuses for who may use them
    std::optional<objects_found> objects;  ///< nothing when that way is not open
    std::string why_no_objects;
    std::optional<checkpoint_found> checkpoint; ///< nothing when that way is not open
    std::string why_no_checkpoint;
    bool is_copied = false; ///< opening does not use the segment, since it was copied while open

    /// Of a state that was checked. `rescued` is what can be read of it, if it is mapped.
    [[nodiscard]] static repair_plan of(const check::state_check& state,
                                        const std::vector<rescued_type>& rescued);
};

[[nodiscard]] std::string to_string(repair_plan::way what);

/// What `dump --rescue` does: writes what a damaged state still holds as a dump, to `output`, or to
/// stdout if that is empty. The last line lists by type which ids are `lost` and which `doubtful`.
/// Only these types, if some are named. Returns damaged when something is lost. Throws what opening
/// the state for a check throws, usage_error, io_error.
[[nodiscard]] exit_code rescue_to(const std::string& output, const std::string& state,
                                  const std::vector<std::string>& types);

} // namespace chainbase::inspect
