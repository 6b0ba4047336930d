#pragma once

#include <tools/exit_code.hpp>
#include <tools/inspect/state/undo_report.hpp>

#include <string>

namespace chainbase::inspect {

/// The report as tables for people.
[[nodiscard]] std::string as_text(const undo_report& report);

/// The report as one JSON object; README.md lists its members.
[[nodiscard]] std::string as_json(const undo_report& report);

} // namespace chainbase::inspect
