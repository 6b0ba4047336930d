#pragma once

#include <chainbase/check/report.hpp>

#include <cstdint>
#include <vector>

namespace chainbase::check {

/// What is known of the slots of a window of objects or buffers.
struct pool_facts {
    slot_number end = 1;       ///< slots below were used, and are in the file
    bool is_whole = false;     ///< whether slot 0 is in the file, too
    std::uint64_t live = 0;    ///< as the pool counts them, its own slot included
    std::vector<bool> is_free; ///< by slot, below `end`
    /// Whether the counts and the free list agree: then what is not free is in use.
    bool is_sound = true;
};

/// Looks at the counts of the pool whose words begin the window's root block, and walks its free
/// list. `has_own_slot`: slot 0 is in the file, whatever else is.
[[nodiscard]] pool_facts check_pool(const window& file, bool has_own_slot, part_report& to);

} // namespace chainbase::check
