#pragma once

#include <chainbase/schema.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// The first line of a dump: of which types it is.
struct dump_head {
    struct type {
        type_schema schema;
        std::uint32_t next_id; ///< when it began
    };

    std::int64_t revision = 0; ///< when it began
    std::vector<type> types;   ///< by name
    bool has_archive = false;  ///< rows of the archive are among its rows

    [[nodiscard]] std::string line() const;
    /// What a line of `file` says. Throws damaged_error when that is no dump, format_error when it
    /// is one of another version.
    [[nodiscard]] static dump_head of(const std::string& line, const std::string& file);
    [[nodiscard]] bool has_types_of(const dump_head& other) const;
};

} // namespace chainbase::inspect
