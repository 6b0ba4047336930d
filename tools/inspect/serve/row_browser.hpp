#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// Which rows of a type somebody who turns pages wants to see.
struct row_request {
    static constexpr std::uint64_t most_rows = 1'000;

    std::string type;
    std::string index = "id";           ///< the name of a key, or "id"
    std::vector<std::string> parts;     ///< of the key, that all rows have; of a hashed one all
    std::optional<std::uint32_t> after; ///< goes on after the object of this id
    bool is_reverse = false;
    bool is_text = false;      ///< `cells` for people in place of `rows`
    bool with_archive = false; ///< also what is in the archive only; each row says where it is
    std::uint64_t limit = 50;
};

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
