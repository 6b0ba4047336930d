#pragma once

#include <tools/inspect/state/state_info.hpp>

#include <string>

namespace chainbase::inspect {

/// What is known of the segment's place and checkpoints when the next opening is foreseen.
struct opening_facts {
    bool has_place = false; ///< what says where the segment is could be read
    bool has_header_file = false;
    bool has_lock = false;
    bool is_unfinished = false;  ///< nothing but what an interrupted creation leaves
    bool has_checkpoint = false; ///< or had one: files of one are there
    std::string why_restore;     ///< why the segment is of no use; empty if it is not
    bool is_same_state = true;   ///< the checkpoints are of the segment's state
};

/// Says in `to` what the next opening for writing does, and names each thing that is in the way.
/// Requires all else in it.
void foresee_opening(const opening_facts& found, state_info& to);

} // namespace chainbase::inspect
