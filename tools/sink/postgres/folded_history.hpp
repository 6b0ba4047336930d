#pragma once

#include <tools/sink/database.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace chainbase::sink::postgres {

/// What a batch does to the history of a table, in five steps of which each changes all rows at
/// once: what was begun and ended within the batch is not told the database one by one.
///
/// Requires that revisions rise, but for undo, which goes back behind those that it undoes.
struct folded_history {
    /// A row as of a block, until another one; the record is that of a history_change.
    struct row {
        std::uint32_t id;
        std::size_t begin, end; ///< of its record
        revision_number from;
        std::uint32_t from_serial;
        std::optional<revision_number> until;
        std::optional<std::uint32_t> until_serial;
    };
    /// Of the row that is now.
    struct close {
        std::uint32_t id;
        revision_number at;
        std::uint32_t serial;
    };
    /// Rows from that revision on were never; those that ended there did not end.
    struct undo {
        std::uint32_t id;
        revision_number at;
    };

    explicit folded_history(std::span<const history_change> changes);

    /// @name In the order in which they are done
    /// @{
    std::vector<undo> undone;
    std::vector<row> again; ///< where none is now
    std::vector<close> closed;
    std::vector<row> rows;
    /// @}
};

} // namespace chainbase::sink::postgres
