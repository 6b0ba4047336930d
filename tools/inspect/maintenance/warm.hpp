#pragma once

#include <tools/exit_code.hpp>
#include <tools/inspect/maintenance/segment_warming.hpp>

#include <string>

namespace chainbase::inspect {

/// The report as a table for people, and as one JSON object; README.md lists its members.
[[nodiscard]] std::string as_text(const warming_report& found);
[[nodiscard]] std::string as_json(const warming_report& found);

} // namespace chainbase::inspect
