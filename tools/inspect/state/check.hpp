#pragma once

#include <chainbase/check/checkpoint_check.hpp>
#include <chainbase/check/state_check.hpp>
#include <tools/exit_code.hpp>

#include <string>

namespace chainbase::inspect {

/// The report for people. `detail`: 0 what is wrong, 1 also each part, 2 also the parts of parts.
[[nodiscard]] std::string as_text(const check::state_check& state, int detail);
[[nodiscard]] std::string as_text(const std::string& state,
                                  const check::checked_checkpoints& checkpoints, int detail);

/// The report as one JSON object; README.md lists its members.
[[nodiscard]] std::string as_json(const check::state_check& state);
[[nodiscard]] std::string as_json(const std::string& state,
                                  const check::checked_checkpoints& checkpoints);

/// "unknown", "closed", "writer_died", "machine_restarted" or "segment_lost".
[[nodiscard]] std::string to_string(check::condition what);
/// "whole", "damaged", "replaced" or "refused".
[[nodiscard]] std::string to_string(check::standing what);

} // namespace chainbase::inspect
