#pragma once

#include <tools/exit_code.hpp>
#include <tools/inspect/maintenance/segment_warming.hpp>

#include <CLI/CLI.hpp>

#include <string>

namespace chainbase::inspect {

/// Adds the verb `warm DIR [--hugepages] [--dry-run] [--json]`: brings the files of a segment into
/// memory, so that the next start does not wait for the disk.
void add_warm(CLI::App& program, exit_code& result);

/// The report as a table for people, and as one JSON object; README.md lists its members.
[[nodiscard]] std::string as_text(const warming_report& found);
[[nodiscard]] std::string as_json(const warming_report& found);

} // namespace chainbase::inspect
