#pragma once

#include <tools/inspect/rows/row_source.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// Differences of two states: objects whose id is in one of them only, and differing fields of
/// objects in both. Compares the printed form, so addresses and key order do not matter.
struct state_diff {
    /// An object that differs.
    struct row {
        std::string type;
        std::uint32_t id = 0;
        std::string a; ///< JSON; empty: missing
        std::string b;
        std::vector<std::string> fields; ///< differing fields, if both have the object
        bool is_archived_in_a = false;   ///< only in the archive of a
        bool is_archived_in_b = false;
    };
    struct type {
        std::string name;
        bool in_a = false;
        bool in_b = false;
        std::uint64_t rows_a = 0;
        std::uint64_t rows_b = 0;
        /// Objects handed over to the archive (handed_over.hpp), read or not.
        std::uint64_t handed_over_a = 0;
        std::uint64_t handed_over_b = 0;
        std::uint64_t only_a = 0;
        std::uint64_t only_b = 0;
        std::uint64_t changed = 0;
        std::map<std::string, std::uint64_t> fields; ///< number of rows in which they differ
        std::vector<std::string> fields_of_one;      ///< missing in the other one's schema

        [[nodiscard]] bool is_same() const noexcept;
    };
    struct question {
        /// Empty: all but those of the state root, which follow from the others and depend on
        /// history.
        std::vector<std::string> types;
        std::set<std::string> ignored; ///< fields, as FIELD or TYPE.FIELD
        std::uint64_t rows_limit = 20; ///< differing rows kept for each type; 0: all
        bool has_archive = false;      ///< include objects that are only in the archive
    };

    std::int64_t revision_a = 0;
    std::int64_t revision_b = 0;
    std::vector<type> types; ///< by name
    std::vector<row> rows;   ///< by type and id

    [[nodiscard]] bool is_same() const noexcept;

    /// Beside a writer, rows are of one block of each state unless that was undone meanwhile.
    /// Throws usage_error for a type that neither has, and what reading throws.
    [[nodiscard]] static state_diff of(row_source& a, row_source& b, const question& asked);
};

} // namespace chainbase::inspect
