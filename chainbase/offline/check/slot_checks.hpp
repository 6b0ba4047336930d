#pragma once

#include <chainbase/object/key_reader.hpp>
#include <chainbase/object/mapped_bytes.hpp>
#include <chainbase/object/schema.hpp>
#include <chainbase/offline/check/mapped_state.hpp>
#include <chainbase/offline/check/report.hpp>
#include <chainbase/offline/rows/type_layout.hpp>
#include <pool_allocator/flat_tables.hpp>
#include <pool_allocator/size_classes.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace chainbase::check {

/// What is known of the slots of a window of objects or buffers.
struct pool_facts {
    slot_number end = 1;       ///< slots below were used, and are in the file
    bool is_whole = false;     ///< whether slot 0 is in the file, too
    std::uint64_t live = 0;    ///< as the pool counts them, its own slot included
    std::vector<bool> is_free; ///< by slot, below `end`
    /// Whether the counts and the free list agree: then what is not free is in use.
    bool is_sound = true;
};

/// Checks the counts of the pool whose words begin the window's root block, and walks its free
/// list. `has_own_slot`: slot 0 must be in the file in any case.
[[nodiscard]] pool_facts check_pool(const window& file, bool has_own_slot, part_report& to);

/// The slots of a type's objects: which hold an object, as far as known, and which of these are
/// damaged.
class object_slots {
public:
    /// `file` and `schema` outlive it. Requires that slot 0 is in the file.
    object_slots(const window& file, const type_schema& schema, pool_facts facts)
        : file_(file), schema_(schema), facts_(std::move(facts)), is_damaged_(facts_.end, false) {}

    /// Slots at or above are not there.
    [[nodiscard]] slot_number end() const noexcept { return facts_.end; }
    [[nodiscard]] bool is_free(slot_number slot) const noexcept { return facts_.is_free[slot]; }
    [[nodiscard]] const pool_facts& facts() const noexcept { return facts_; }

    /// `by_id`: the slots that the id table leads to. They count as the objects, unless the pool is
    /// sound: then the pool tells, including objects that no id leads to.
    void set_live(std::vector<bool> by_id) {
        is_live_ = std::move(by_id);
        if (!facts_.is_sound) return;
        for (slot_number slot = 1; slot < end(); ++slot)
            is_live_[slot] = !facts_.is_free[slot];
    }
    /// Whether there is an object; any number may be asked for.
    [[nodiscard]] bool is_live(std::uint64_t slot) const noexcept {
        return slot < is_live_.size() && is_live_[slot];
    }
    [[nodiscard]] std::uint64_t live() const noexcept;
    /// Objects to which no damage was found.
    [[nodiscard]] std::uint64_t whole() const noexcept;
    void mark_damaged(slot_number slot) noexcept { is_damaged_[slot] = true; }
    [[nodiscard]] bool is_damaged(slot_number slot) const noexcept { return is_damaged_[slot]; }

    [[nodiscard]] const std::byte* node(slot_number slot) const noexcept {
        return file_.base() + offset_of(slot);
    }
    [[nodiscard]] const std::byte* value(slot_number slot) const noexcept {
        return node(slot) + schema_.value_offset;
    }
    [[nodiscard]] std::uint32_t id(slot_number slot) const noexcept {
        return copy_at<std::uint32_t>(value(slot));
    }
    [[nodiscard]] std::uint64_t offset_of(slot_number slot) const noexcept {
        return file_.header().first_slot + std::uint64_t{slot} * schema_.node_bytes;
    }
    [[nodiscard]] const window& file() const noexcept { return file_; }
    [[nodiscard]] const type_schema& schema() const noexcept { return schema_; }
    /// "slot 7 (object 6)"
    [[nodiscard]] std::string text_of(slot_number slot) const {
        return "slot " + std::to_string(slot) +
               (slot == 0 ? "" : " (object " + std::to_string(id(slot)) + ")");
    }

    struct unreached {
        std::uint64_t count = 0;
        slot_number first = 0;
    };
    /// The objects whose slots are not among the `reached`; they are marked damaged.
    [[nodiscard]] unreached mark_unreached(const std::vector<bool>& reached);

    /// Adds what is wrong with the word that lies `at` in the node of a slot; the object is
    /// marked damaged. Slot 0 holds no object.
    void add(part_report& to, slot_number slot, std::size_t at, std::string what);

private:
    const window& file_;
    const type_schema& schema_;
    pool_facts facts_;
    std::vector<bool> is_live_;
    std::vector<bool> is_damaged_;
};

/// Checks the table of a hashed key: every entry leads to an object, has the hash of its key, and
/// is found by probing; no two have the same key; every object has an entry or, of a key that is
/// not unique, is in the ring of one. What is wrong is added to `to`. Takes time in proportion to
/// the table and the slots, whatever is in them.
void check_table(object_slots& objects, const window& file, const rows::type_layout::table& of,
                 const rows::key_reader& key, part_report& to);

/// Walks the red-black tree of an ordered or ranked key: every object is reached once, parents and
/// children agree, colours and black heights are a red-black tree's, sizes of subtrees are right,
/// and the keys are in order. What is wrong is added to `to`; nothing below a wrong link is walked.
/// Takes time and memory in proportion to the slots, whatever the links are.
void check_tree(object_slots& objects, const rows::type_layout::tree& of,
                const rows::key_reader& key, part_report& to);

/// Walks the tree of a btree key: every object is reached once, in order, nodes agree with each
/// other and with the keys of the objects. What is wrong is added to `to`. Takes time and memory in
/// proportion to nodes and slots, whatever is in them.
void check_btree(object_slots& objects, window& file, const rows::type_layout::flat_tree& of,
                 const rows::key_reader& key, part_report& to);

/// The buffers of strings and arrays: checks the pools of all size classes and the page runs, then
/// takes the references of objects, each of which must lead to a buffer of its own.
class buffer_check final : public rows::buffer_source {
public:
    /// `state` outlives it.
    explicit buffer_check(const mapped_state& state);

    /// What a handle refers to; nothing when that is not within what was used of its file.
    [[nodiscard]] std::optional<std::span<const std::byte>>
    content(buffer_handle handle) const override;
    /// Enters a reference of an object; returns what is wrong with it, empty if nothing.
    [[nodiscard]] std::string refer(buffer_handle handle);
    /// Ends the references: adds buffers that no object refers to, if the references of all objects
    /// were entered, and returns the report, a part for each file.
    [[nodiscard]] part_report finish(bool knows_all_objects);

private:
    /// A size class, or the page runs, whose slots are pages.
    struct pool {
        const window* file = nullptr;
        std::size_t first = 0; ///< where slot 0 is in the file
        std::size_t slot_bytes = 0;
        pool_facts facts;
        std::vector<bool> is_referred;
        std::uint64_t references = 0;
        std::uint64_t slots = 0; ///< to which they refer
        std::uint64_t bytes = 0; ///< of content
    };
    struct place {
        std::size_t number; ///< of the pool
        slot_number slot;
        std::uint64_t slots; ///< one of a class, or as many pages as the content takes
    };

    void check_class(std::size_t number);
    void check_runs();
    void walk_free_runs(const window& file, part_report& to, pool_facts& facts);
    [[nodiscard]] static std::optional<place> place_of(buffer_handle handle) noexcept;
    [[nodiscard]] bool holds(const place& at) const noexcept;
    void finish(std::size_t number, bool knows_all_objects);

    std::vector<pool> pools_;
    part_report report_;
};

} // namespace chainbase::check
