#pragma once

#include <chainbase/lock_report.hpp>
#include <tools/exit_code.hpp>

#include <CLI/CLI.hpp>

#include <string>

namespace chainbase::inspect {

/// Adds the verb `locks DIR [--json]`: who has a state open, and who waits for whom.
void add_locks(CLI::App& program, exit_code& result);

/// The report as a table for people.
[[nodiscard]] std::string as_text(const lock_report& locks);

/// The report as one JSON object; README.md lists its members.
[[nodiscard]] std::string as_json(const lock_report& locks);

} // namespace chainbase::inspect
