#pragma once

#include <chainbase/check/state_check.hpp>
#include <tools/inspect/maintenance/rescue.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// Where a state can be taken from when its segment is damaged, and what each way would lose; or,
/// when only its checkpoints are, that they can be made again.
struct repair_plan {
    enum class way {
        nothing,     ///< it is sound
        objects,     ///< the segment made anew from what can be read of it
        checkpoint,  ///< the segment set aside, so that opening restores the checkpoint
        checkpoints, ///< the checkpoints set aside, and one made of the segment, which is sound
        none,        ///< nothing of that can be
    };
    /// What the segment still holds.
    struct objects_found {
        std::uint64_t kept = 0;
        std::uint64_t lost = 0;     ///< objects that cannot be read
        std::uint64_t doubtful = 0; ///< among those kept: bytes of them may be wrong
        std::uint64_t undone = 0;   ///< blocks that could not be undone any more
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

    /// Of a state that was checked. `rescued` is what can be read of it, if it is mapped.
    [[nodiscard]] static repair_plan of(const check::state_check& state,
                                        const std::vector<rescued_type>& rescued);
};

[[nodiscard]] std::string to_string(repair_plan::way what);

} // namespace chainbase::inspect
