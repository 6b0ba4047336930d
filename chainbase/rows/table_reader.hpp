#pragma once

#include <chainbase/rows/probe.hpp>
#include <chainbase/rows/slot_reader.hpp>
#include <chainbase/rows/type_layout.hpp>
#include <pool_allocator/hash_table.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace chainbase::rows {

/// A hashed key: the objects that have a key. What hash_table.hpp lays out, read entry by entry.
/// Thread-safe.
class table_reader {
public:
    /// All of them outlive it. Throws damaged_error when the table is not within its file.
    table_reader(const slot_reader& objects, const window& file, const type_layout::table& of);

    /// The slots of all objects that have this key; of one that is not unique, in the order in
    /// which the program sees them. Requires that `key` is whole. Throws damaged_error when entries
    /// lead out of the file or round in circles.
    [[nodiscard]] std::vector<slot_number> find(const probe& key) const;

    /// An object, as a walk through the table meets it.
    struct entry {
        slot_number slot;
        std::uint32_t hash;
        bool has_key_of_previous; ///< it follows in the ring of those with one key
    };
    /// Calls `visit` for every object, those of one key one after the other. Throws damaged_error
    /// as find does, when there are more than there are objects, and what `visit` throws.
    void each(const std::function<void(const entry&)>& visit) const;

private:
    [[nodiscard]] std::vector<slot_number> ring_of(slot_number head) const;
    [[nodiscard]] slot_number head(const probe& key) const;

    const slot_reader& objects_;
    const window& file_;
    const type_layout::table& of_;
    hash_state words_;
};

} // namespace chainbase::rows
