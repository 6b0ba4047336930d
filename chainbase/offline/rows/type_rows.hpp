#pragma once

#include <chainbase/object/key_reader.hpp>
#include <chainbase/object/mapped_bytes.hpp>
#include <chainbase/object/schema.hpp>
#include <chainbase/offline/rows/type_layout.hpp>
#include <pool_allocator/flat_tables.hpp>
#include <pool_allocator/link_words.hpp>
#include <pool_allocator/pool.hpp>
#include <pool_allocator/window.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace chainbase::rows {

/// Reads the mapped objects of a type by slot and by id. Valid while the read lock is held, or
/// while no process writes the state.
///
/// Invariant: nothing outside of the windows is read, whatever their bytes are. Thread-safe.
class slot_reader {
public:
    /// All of them outlive it. Throws damaged_error when there is no root block.
    slot_reader(const type_schema& schema, const window& objects, const window& ids);

    /// The id that the next object gets.
    [[nodiscard]] std::uint32_t next_id() const noexcept { return next_id_; }
    /// How many objects there are.
    [[nodiscard]] std::uint64_t live() const noexcept { return live_; }

    /// The slot of object `id`, 0 if there is none. Throws damaged_error.
    [[nodiscard]] slot_number slot_of(std::uint32_t id) const;
    /// The node in a slot; that of slot 0 heads the trees. Throws damaged_error when the file has
    /// no such slot.
    [[nodiscard]] const std::byte* node(slot_number slot) const;
    [[nodiscard]] const std::byte* value(slot_number slot) const {
        return node(slot) + schema_.value_offset;
    }
    [[nodiscard]] std::uint32_t id(slot_number slot) const;

    [[nodiscard]] const type_schema& schema() const noexcept { return schema_; }
    [[nodiscard]] const window& objects() const noexcept { return objects_; }
    /// Throws damaged_error about a word that lies `at` in the node of a slot.
    [[noreturn]] void throw_damaged(slot_number slot, std::size_t at, const char* what) const;

private:
    const type_schema& schema_;
    const window& objects_;
    const window& ids_;
    std::uint64_t end_; ///< slots at or above are not in the file
    std::uint32_t next_id_;
    std::uint64_t live_;
};

/// Finds objects by a hashed key: reads the table laid out by hash_table, entry by entry.
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
    /// What the hashes of its entries are keyed with.
    [[nodiscard]] hash_seed seed() const noexcept;

private:
    [[nodiscard]] std::vector<slot_number> ring_of(slot_number head) const;
    [[nodiscard]] slot_number head(const probe& key) const;

    const slot_reader& objects_;
    const window& file_;
    const type_layout::table& of_;
    hash_state words_;
};

/// Walks and searches an ordered, ranked or btree key.
///
/// Slot 0 stands for "none". All functions throw damaged_error when words of the key lead out of
/// its file or round in circles. One thread at a time.
class tree_reader {
public:
    virtual ~tree_reader() = default;

    [[nodiscard]] virtual slot_number first() const = 0;
    [[nodiscard]] virtual slot_number last() const = 0;
    [[nodiscard]] virtual slot_number next(slot_number slot) const = 0;
    [[nodiscard]] virtual slot_number previous(slot_number slot) const = 0;
    /// The first one whose key does not come before `key`; with fewer parts, the first of those
    /// that begin with it.
    [[nodiscard]] virtual slot_number lower_bound(const probe& key) const = 0;
    /// The first one whose key comes after `key` and all that begin with it.
    [[nodiscard]] virtual slot_number upper_bound(const probe& key) const = 0;
};

/// The objects of one type of a state, found as its program finds them, from the catalogue alone.
///
/// Valid while the read lock is held, or while no process writes the state. Thread-safe.
class type_rows {
public:
    /// What is mapped of a type; all outlive the rows.
    struct source {
        const type_schema* schema;
        const window* objects;
        const window* ids;
        std::vector<const window*> tables; ///< of its hashed keys
        std::vector<const window*> btrees; ///< of its btree keys
        const buffer_source* buffers;
    };

    /// Throws damaged_error when the catalogue does not fit the files.
    explicit type_rows(source from);

    [[nodiscard]] const type_schema& schema() const noexcept { return *from_.schema; }
    [[nodiscard]] const buffer_source& buffers() const noexcept { return *from_.buffers; }
    [[nodiscard]] const slot_reader& slots() const noexcept { return slots_; }

    /// The key of this name. Throws usage_error, which lists those there are.
    [[nodiscard]] const type_schema::key& key_called(std::string_view name) const;
    /// The tree of an ordered, ranked or btree key; null for a hashed one. These rows outlive it.
    /// Throws damaged_error when it is not within its file.
    [[nodiscard]] std::unique_ptr<tree_reader> tree(const type_schema::key& key) const;
    /// The table of a hashed key; nothing for another one. Throws damaged_error when it is not
    /// within its file.
    [[nodiscard]] std::optional<table_reader> table(const type_schema::key& key) const;
    /// The slots of all objects with this key, in the order of the key. Requires a whole
    /// key.
    [[nodiscard]] std::vector<slot_number> find(const type_schema::key& key,
                                                const probe& wanted) const;

private:
    source from_;
    type_layout layout_;
    slot_reader slots_;
};

/// Visits the objects of a type in slices, between which everything may change: an object that
/// exists all the time, and whose key does not change, is visited once. One thread at a time.
class row_cursor {
public:
    /// Returns whether the slice goes on.
    using visitor = std::function<bool(slot_number)>;

    virtual ~row_cursor() = default;

    /// Visits the next objects until the end, or until `visit` ends the slice. Returns whether
    /// there may be more. Throws damaged_error, and what `visit` throws; then the cursor must not
    /// be used any more.
    virtual bool advance(const type_rows& of, const visitor& visit) = 0;
    /// Another one at the same place.
    [[nodiscard]] virtual std::unique_ptr<row_cursor> copy() const = 0;
};

/// By id.
class id_cursor final : public row_cursor {
public:
    /// From id `from` to id `to`, both included, or the other way.
    explicit id_cursor(std::uint32_t from = 0, std::uint32_t to = UINT32_MAX,
                       bool is_reverse = false) noexcept
        : from_(from), to_(to), is_reverse_(is_reverse) {}

    bool advance(const type_rows& of, const visitor& visit) override;
    [[nodiscard]] std::unique_ptr<row_cursor> copy() const override {
        return std::make_unique<id_cursor>(*this);
    }

private:
    /// Not yet visited.
    std::uint64_t from_;
    std::uint64_t to_;
    bool is_reverse_;
};

/// In the order of an ordered, ranked or btree key.
class key_cursor final : public row_cursor {
public:
    /// The range visited: from `from` to `to`, including the keys that begin with `to`.
    struct bounds {
        std::optional<probe> from;
        std::optional<probe> to;
        bool is_reverse = false;
    };

    /// `key` outlives it. Requires that it is a key of a type that is not hashed, whose order is
    /// known (class probe).
    key_cursor(const type_schema::key& key, bounds within);

    bool advance(const type_rows& of, const visitor& visit) override;
    [[nodiscard]] std::unique_ptr<row_cursor> copy() const override {
        return std::make_unique<key_cursor>(*this);
    }

private:
    [[nodiscard]] slot_number start(const tree_reader& tree) const;
    [[nodiscard]] slot_number resume(const type_rows& of, const tree_reader& tree) const;
    [[nodiscard]] slot_number after(const tree_reader& tree, slot_number slot) const;
    [[nodiscard]] bool is_within(const std::byte* object) const;
    /// Also throws damaged_error when the walk ran in a cycle: keys rise from slice to slice, and
    /// no more objects than ids exist share a key.
    void remember(const type_rows& of, const std::vector<slot_number>& visited);
    [[noreturn]] static void throw_cycle(const type_rows& of, slot_number slot);

    const type_schema::key& key_;
    std::shared_ptr<const bounds> within_; // shared with copies, as is the next one
    /// Where the last slice ended: a key, and the objects that have it and were visited, the last
    /// of them last.
    std::shared_ptr<const probe> last_;
    std::vector<std::uint32_t> visited_;
};

} // namespace chainbase::rows
