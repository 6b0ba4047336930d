#pragma once

#include <archive/store.hpp>
#include <chainbase/state_root/id_tree.hpp>
#include <tools/inspect/rows/type_records.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// The leaves of a type's objects, hashed from the objects as they are now, in memory and in the
/// archive.
struct type_leaves {
    struct unreadable_object {
        std::uint32_t id;
        bool is_archived;    ///< it is not in memory, and there may be none in the archive
        std::string problem; ///< the error
    };

    state_root::id_tree tree;                  ///< of those that can be read
    std::uint64_t archived = 0;                ///< of these, the ones that are only in the archive
    std::vector<unreadable_object> unreadable; ///< by id

    /// Reads in `threads` threads. `archive` may be null: there is none. Throws usage_error when
    /// there is no such type, state_changed, damaged_error when the archive lacks rows that the
    /// state handed over, and what reading throws, except damaged_error about single objects.
    [[nodiscard]] static type_leaves of(unchanging_state& state, const archive::store* archive,
                                        const std::string& type, unsigned threads);

    /// Whether the object could not be read.
    [[nodiscard]] bool is_unreadable(std::uint32_t id) const noexcept;
};

/// Whether an object is in memory, or the table that would tell is damaged. Call it in a turn.
[[nodiscard]] bool may_be_in_memory(const rows::type_rows& of, std::uint32_t id);

} // namespace chainbase::inspect
