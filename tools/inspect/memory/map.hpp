#pragma once

#include <tools/exit_code.hpp>
#include <tools/inspect/memory/segment_map.hpp>

#include <cstddef>
#include <string>

namespace chainbase::inspect {

/// The picture for a terminal of `columns` columns, and tables.
[[nodiscard]] std::string as_text(const segment_map& found, std::size_t columns);

/// The report as one JSON object; README.md lists its members.
[[nodiscard]] std::string as_json(const segment_map& found);

/// The picture as a document that needs no other file, in the colours that its viewer prefers.
[[nodiscard]] std::string as_svg(const segment_map& found);

} // namespace chainbase::inspect
