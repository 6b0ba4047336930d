#pragma once

#include <tools/exit_code.hpp>
#include <tools/inspect/memory/segment_map.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <string>

namespace chainbase::inspect {

/// Adds the verb `map DIR [--svg FILE] [--json]`: a picture of how full the pages of a segment are.
/// `result` becomes `failed` when the counts of a closed state do not agree with what was found;
/// what is known is printed all the same.
void add_map(CLI::App& program, exit_code& result);

/// The picture for a terminal of `columns` columns, and tables.
[[nodiscard]] std::string as_text(const segment_map& found, std::size_t columns);

/// The report as one JSON object; README.md lists its members.
[[nodiscard]] std::string as_json(const segment_map& found);

/// The picture as a document that needs no other file, in the colours that its viewer prefers.
[[nodiscard]] std::string as_svg(const segment_map& found);

} // namespace chainbase::inspect
