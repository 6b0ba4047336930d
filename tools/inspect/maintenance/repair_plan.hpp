#pragma once

#include <chainbase/offline/bulk_load/key_loaders.hpp>
#include <chainbase/offline/check/state_check.hpp>
#include <tools/exit_code.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// The readable objects of one type of a state, sound or not.
struct rescued_type {
    const check::type_check* from = nullptr;
    std::vector<slot_number> slots;      ///< fully readable objects, by id
    std::vector<std::uint32_t> lost;     ///< ids of objects with a missing text or vector
    std::vector<std::uint32_t> doubtful; ///< ids of readable objects with findings of `check`:
                                         ///< some of their bytes may be wrong
    bulk_load::key_orders orders;        ///< of keys computed by a function
    std::string why_no_orders;           ///< why some are missing; empty otherwise
};

/// All types about which `check` found anything. `state` must outlive it, and is mapped.
[[nodiscard]] std::vector<rescued_type> rescue(const check::state_check& state);

/// Types without any information: their files could not be opened.
[[nodiscard]] std::vector<std::string> lost_types(const check::state_check& state);

/// The sources from which a state with a damaged segment can be restored, and the loss of each; or,
/// when only its checkpoints are damaged, that they can be made again.
struct repair_plan {
    enum class way {
        nothing,     ///< the state is sound
        objects,     ///< rebuild the segment from its readable objects
        checkpoint,  ///< set the segment aside, so that opening restores the checkpoint
        checkpoints, ///< set the checkpoints aside, and make one of the sound segment
        none,        ///< no option is available
        copy,        ///< keep a copied segment as it is: nobody wrote meanwhile
    };
    /// The remaining content of the segment.
    struct objects_found {
        std::uint64_t kept = 0;
        std::uint64_t lost = 0;             ///< unreadable objects
        std::uint64_t doubtful = 0;         ///< kept objects that may have wrong bytes
        std::uint64_t no_longer_undone = 0; ///< blocks that can no longer be undone
        std::int64_t revision = 0;
    };
    /// The result of restoring a checkpoint.
    struct checkpoint_found {
        std::uint64_t generation = 0;
        std::int64_t revision = 0; ///< including the blocks of the redo log
    };

    way best = way::nothing;
    std::uint64_t findings = 0;            ///< in the segment
    std::uint64_t checkpoint_findings = 0; ///< in the checkpoints and the redo log
    std::string checkpoint_damage;         ///< the first of them
    /// files that opening refuses because of their permissions
    std::vector<std::string> refused;
    std::optional<objects_found> objects; ///< nothing when not available
    std::string why_no_objects;
    std::optional<checkpoint_found> checkpoint; ///< nothing when not available
    std::string why_no_checkpoint;
    bool is_copied = false; ///< opening refuses the segment, which was copied while open

    /// For a checked state. `rescued`: its readable objects, if it is mapped.
    [[nodiscard]] static repair_plan of(const check::state_check& state,
                                        const std::vector<rescued_type>& rescued);
};

[[nodiscard]] std::string to_string(repair_plan::way what);

/// Implements `dump --rescue`: writes the readable objects of a damaged state as a dump to
/// `output`, or to stdout if that is empty. The last line lists the `lost` and `doubtful` ids by
/// type. Only the named types, if any. Returns damaged when something is lost. Throws what opening
/// the state for a check throws, usage_error, io_error.
[[nodiscard]] exit_code rescue_to(const std::string& output, const std::string& state,
                                  const std::vector<std::string>& types);

} // namespace chainbase::inspect
