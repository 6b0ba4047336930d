#pragma once

#include <tools/exit_code.hpp>
#include <tools/inspect/state/state_info.hpp>

#include <string>

namespace chainbase::inspect {

/// The report for people.
[[nodiscard]] std::string as_text(const state_info& info);

/// The report as one JSON object; README.md lists its members.
[[nodiscard]] std::string as_json(const state_info& info);

/// "closed", "writer_running", "writer_died", "machine_restarted", "segment_lost" or "unknown".
[[nodiscard]] std::string condition_of(const state_info& info);

/// "attach", "roll_back", "restore", "create" or "refuse".
[[nodiscard]] std::string to_string(next_opening what);

} // namespace chainbase::inspect
