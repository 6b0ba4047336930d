#pragma once

#include <chainbase/segment.hpp>
#include <tools/inspect/memory/state_report.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// What the file system holds of one part of a segment, and would hold when it was made anew.
struct compacted_part {
    std::string name;
    std::uint64_t now = 0;
    std::uint64_t then = 0; ///< by what is counted of it
};

/// Types first, then "buffers", "undo log" and "header"; the last is the sum, "total". `segment` is
/// the state's, open for reading.
[[nodiscard]] std::vector<compacted_part> compact_estimate(const state_report& state,
                                                           const segment& from);

} // namespace chainbase::inspect
