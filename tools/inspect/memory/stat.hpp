#pragma once

#include <tools/inspect/archive/archive.hpp>
#include <tools/inspect/memory/live_sample.hpp>
#include <tools/inspect/memory/state_report.hpp>

#include <optional>
#include <string>

namespace chainbase::inspect {

/// The report of `stat` as text tables.
[[nodiscard]] std::string as_text(const state_report& state,
                                  const std::optional<archive_report>& archive);

/// The report as one JSON object; json.md lists its members.
[[nodiscard]] std::string as_json(const state_report& state,
                                  const std::optional<archive_report>& archive);

/// The growth as a text table.
[[nodiscard]] std::string as_text(const state_growth& growth);

} // namespace chainbase::inspect
