#pragma once

#include <tools/inspect/archive_report.hpp>
#include <tools/inspect/state_report.hpp>

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

namespace chainbase::inspect {

/// Adds the verb `stat DIR [--json]`: what is in a state and where every byte of it is.
/// `exit_code` becomes 1 when the sums of a state that nobody writes do not hold.
void add_stat(CLI::App& program, int& exit_code);

/// The report as tables for people.
[[nodiscard]] std::string as_text(const state_report& state,
                                  const std::optional<archive_report>& archive);

/// The report as one JSON object; README.md lists its members.
[[nodiscard]] std::string as_json(const state_report& state,
                                  const std::optional<archive_report>& archive);

/// "closed", "writer_running" or "writer_died".
[[nodiscard]] std::string to_string(condition what);

} // namespace chainbase::inspect
