#pragma once

#include <chainbase/object/key_reader.hpp>
#include <chainbase/offline/rows/type_layout.hpp>
#include <chainbase/offline/rows/type_rows.hpp>
#include <pool_allocator/flat_tables.hpp>
#include <pool_allocator/link_words.hpp>
#include <pool_allocator/pool.hpp>
#include <undo/fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace chainbase::bulk_load {

/// The known orders and hashes of a type's keys, by key name; keys that are missing here are sorted
/// and hashed as far as the catalogue describes them. Each key must have every object once.
struct key_orders {
    /// An object in the table of a hashed key.
    struct entry {
        std::uint32_t id;
        std::uint32_t hash;
        bool has_key_of_previous; ///< it follows in the ring of those with one key
    };
    /// The entries of a table, and what their hashes are keyed with.
    struct table {
        hash_seed seed;
        std::vector<entry> entries;
    };

    /// Of ordered and ranked keys: the ids in their order.
    std::map<std::string, std::vector<std::uint32_t>> trees;
    std::map<std::string, table> tables;

    /// Forgets the objects for which `is_kept` does not hold.
    void retain(const std::function<bool(std::uint32_t id)>& is_kept);
};

/// Whether only the program knows the order of a tree or the hashes of a table: a function of it
/// computes a part, or a part is of a type that the catalogue does not describe. Throws
/// damaged_error when a part is no field.
[[nodiscard]] bool is_computed(const type_schema& schema, const type_schema::key& key);

/// The orders that keys have where the rows are, objects of equal keys by their ids. Of all keys,
/// or only of computed ones. Under the read lock, or of a state that nobody writes. Throws
/// damaged_error when a tree or a table is corrupt.
enum class which_keys { all, computed };
[[nodiscard]] key_orders orders_of(const rows::type_rows& from, which_keys of = which_keys::all);

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
    /// Enters these, whose hashes are keyed with `seed`: so are those of the table from then on.
    /// Throws damaged_error when they are not all objects, each once, or are no hashes;
    /// out_of_space_error, limit_error.
    void load(std::span<const entry> entries, const hash_seed& seed);

private:
    [[nodiscard]] const std::byte* value(slot_number slot) const noexcept;
    [[nodiscard]] std::byte* ring(slot_number slot) const noexcept;
    void insert(std::uint32_t hash, slot_number slot);
    [[nodiscard]] slot_number enter_ring(std::uint32_t hash, slot_number head, slot_number slot);
    template <typename Work>
    void in_batches(std::size_t count, Work&& work);

    objects of_;
    const rows::type_layout::table& key_;
    hash_state& words_;
    window& file_;
    undo_log& log_;
    hash_table table_;
};

/// Links the nodes of a type for one ordered or ranked key, as compact_links.hpp lays links out: a
/// red-black tree of least height, all nodes black but those of a last level that is not full.
class tree_loader {
public:
    /// Of nodes that lie one after the other; that of slot 0 heads the tree. `links_at` is where
    /// the words of the key are in a node.
    tree_loader(std::byte* nodes, std::size_t node_bytes, std::size_t links_at,
                bool is_ranked) noexcept
        : nodes_(nodes), node_bytes_(node_bytes), links_at_(links_at), is_ranked_(is_ranked) {}

    /// Links all objects, which are in these slots, in this order.
    void link(std::span<const slot_number> order) noexcept;

private:
    [[nodiscard]] slot_number link(std::span<const slot_number> order, slot_number parent,
                                   int levels_above) noexcept;
    void store_links(slot_number slot, slot_number parent, slot_number left, slot_number right,
                     bool is_red) noexcept;
    void store(slot_number slot, links::word at, std::uint32_t value) noexcept;

    std::byte* nodes_;
    std::size_t node_bytes_;
    std::size_t links_at_;
    bool is_ranked_;
    int black_levels_ = 0; ///< nodes below so many levels are red
};

} // namespace chainbase::bulk_load
