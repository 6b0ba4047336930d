#pragma once

#include <tools/inspect/rows/row_source.hpp>
#include <tools/inspect/serve/row_request.hpp>

#include <optional>
#include <string>

namespace chainbase::inspect {

/// rows_page() of memory and archive: in the order of a key or of the id as `range --archive` has
/// them, those of a hashed key as `get`. Nothing when the archive is not searched: there is none,
/// it has no rows of the type, or it does not know the hashed key.
///
/// Takes turns. Throws what rows_page() does with the archive.
[[nodiscard]] std::optional<std::string> merged_page(row_source& from, const row_request& wanted);

} // namespace chainbase::inspect
