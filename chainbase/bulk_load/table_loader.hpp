#pragma once

#include <chainbase/rows/key_reader.hpp>
#include <chainbase/rows/type_layout.hpp>
#include <pool_allocator/hash_table.hpp>
#include <undo/fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace chainbase::bulk_load {

/// Fills the table of a hashed key, and links the rings of equal keys if it is not unique.
class table_loader {
public:
    /// The nodes of a type, one after the other; slots from 1 on have objects.
    struct objects {
        const type_schema& schema;
        std::byte* nodes;
        slot_number end; ///< slots at or above are not in use
    };
    struct entry {
        slot_number slot;
        std::uint32_t hash;
        bool has_key_of_previous; ///< it follows in the ring
    };

    /// Gives the table, whose words are in the root block of the type, its first area in `file`.
    /// All but `of` outlive it. Throws out_of_space_error.
    table_loader(const objects& of, const rows::type_layout::table& key, window& file,
                 undo_log& log);

    /// Enters all objects, as `key` hashes them. Throws duplicate_key_error, usage_error when that
    /// does not know how, damaged_error, out_of_space_error, limit_error.
    void load(const rows::key_reader& key);
    /// Enters these. Throws damaged_error when they are not all objects, each once;
    /// out_of_space_error, limit_error.
    void load(std::span<const entry> entries);

private:
    [[nodiscard]] const std::byte* value(slot_number slot) const noexcept;
    [[nodiscard]] std::byte* ring(slot_number slot) const noexcept;
    void insert(std::uint32_t hash, slot_number slot);
    void append_to_ring(slot_number head, slot_number slot) noexcept;
    template <typename Work>
    void in_batches(std::size_t count, Work&& work);

    objects of_;
    const rows::type_layout::table& key_;
    hash_state& words_;
    undo_log& log_;
    hash_table table_;
};

} // namespace chainbase::bulk_load
