#pragma once

#include <tools/exit_code.hpp>
#include <tools/inspect/archive/archive.hpp>
#include <tools/inspect/memory/state_growth.hpp>
#include <tools/inspect/memory/state_report.hpp>

#include <optional>
#include <string>

namespace chainbase::inspect {

/// How a report ends the program: `failed`, with a message that says why, when the state is closed
/// and its sums do not hold or its archive cannot be read.
[[nodiscard]] exit_code verdict_of(const state_report& state,
                                   const std::optional<archive_report>& archive);

/// The report as tables for people.
[[nodiscard]] std::string as_text(const state_report& state,
                                  const std::optional<archive_report>& archive);

/// The report as one JSON object; README.md lists its members.
[[nodiscard]] std::string as_json(const state_report& state,
                                  const std::optional<archive_report>& archive);

/// The growth as a table for people.
[[nodiscard]] std::string as_text(const state_growth& growth);

/// As as_json, on one line and with the member `growth_per_minute`.
[[nodiscard]] std::string as_json_line(const state_report& state,
                                       const std::optional<archive_report>& archive,
                                       const state_growth& growth);

/// "closed", "writer_running" or "writer_died".
[[nodiscard]] std::string to_string(condition what);

} // namespace chainbase::inspect
