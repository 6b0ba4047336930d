#pragma once

#include <tools/inspect/rows/row_source.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// What two states have not in common: objects of one id in one of them only, and fields of those
/// in both. Objects are compared by what is printed of them, so addresses and keys do not matter.
struct state_diff {
    /// An object that is not the same.
    struct row {
        std::string type;
        std::uint32_t id = 0;
        std::string a; ///< JSON; empty: not there
        std::string b;
        std::vector<std::string> fields; ///< that differ, if it is in both
        bool is_archived_in_a = false;   ///< it is in the archive of a only
        bool is_archived_in_b = false;
    };
    struct type {
        std::string name;
        bool in_a = false;
        bool in_b = false;
        std::uint64_t rows_a = 0;
        std::uint64_t rows_b = 0;
        /// Objects that were handed over to the archive (handed_over.hpp), read or not.
        std::uint64_t handed_over_a = 0;
        std::uint64_t handed_over_b = 0;
        std::uint64_t only_a = 0;
        std::uint64_t only_b = 0;
        std::uint64_t changed = 0;
        std::map<std::string, std::uint64_t> fields; ///< in how many rows they differ
        std::vector<std::string> fields_of_one;      ///< that the other one's schema does not have

        [[nodiscard]] bool is_same() const noexcept;
    };
    struct question {
        /// None: all but those of the state root, which follow from the others and are laid out
        /// by history.
        std::vector<std::string> types;
        std::set<std::string> ignored; ///< fields, as FIELD or TYPE.FIELD
        std::uint64_t rows_limit = 20; ///< differing rows that are kept, of each type; 0: all
        bool has_archive = false;      ///< also objects that are in the archive only
    };

    std::int64_t revision_a = 0;
    std::int64_t revision_b = 0;
    std::vector<type> types; ///< by name
    std::vector<row> rows;   ///< by type and id

    [[nodiscard]] bool is_same() const noexcept;

    /// Compares in turns, so beside a writer the rows are of different blocks. Throws usage_error
    /// for a type that neither has, and what reading does.
    [[nodiscard]] static state_diff of(row_source& a, row_source& b, const question& asked);
};

} // namespace chainbase::inspect
