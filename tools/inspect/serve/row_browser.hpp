#pragma once

#include <tools/inspect/serve/row_request.hpp>

#include <filesystem>
#include <string>

namespace chainbase::inspect {

/// A page of rows: `{schema_version, state, type, index, revision, rolled_back, names[], rows[],
/// more, after}`. `after` asks for the next page. It ends early where rows are long.
///
/// With the archive each of `rows` is `{row, archived}`, `cells` have one more, of the name
/// `where`, which is "memory" or "archive", and there are
///
///     archive_searched   false: there is none, or it has no rows of the type, or does not know
///                        the hashed key, so these are those in memory
///     moved              rows were handed over meanwhile: some of them may be missing
///
/// Takes turns with the writer, each of a bounded time, as `range` does. Throws usage_error for
/// what there is not, no value of a part, a hashed key that is not whole, an `after` that is
/// gone, and with the archive for what merged_rows does not go through; damaged_error when the
/// archive lacks rows; and what row_source throws.
[[nodiscard]] std::string rows_page(const std::filesystem::path& state, const row_request& wanted);

} // namespace chainbase::inspect
