#pragma once

#include <archive/store.hpp>
#include <tools/inspect/rows/row_source.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// One object, in memory or in the archive.
struct object_row {
    std::string json;               ///< as `get` prints it
    std::vector<std::string> names; ///< of the fields
    std::vector<std::string> cells; ///< the fields, for people

    /// The object of a type with this id; nothing when there is none. `archive` may be null: there
    /// is none. Takes turns. Throws usage_error when there is no such type, and what reading does:
    /// damaged_error, io_error.
    [[nodiscard]] static std::optional<object_row> find(row_source& state,
                                                        const archive::store* archive,
                                                        const std::string& type, std::uint32_t id);
};

} // namespace chainbase::inspect
