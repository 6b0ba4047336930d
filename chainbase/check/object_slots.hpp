#pragma once

#include <chainbase/check/report.hpp>
#include <chainbase/schema.hpp>

#include <cstddef>
#include <cstdint>
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

/// Looks at the counts of the pool whose words begin the window's root block, and walks its free
/// list. `has_own_slot`: slot 0 is in the file, whatever else is.
[[nodiscard]] pool_facts check_pool(const window& file, bool has_own_slot, part_report& to);

/// The slots of a type's objects: which hold one, as far as can be told, and to which of those some
/// damage was found.
class object_slots {
public:
    /// `file` and `schema` outlive it. Requires that slot 0 is in the file.
    object_slots(const window& file, const type_schema& schema, pool_facts facts)
        : file_(file), schema_(schema), facts_(std::move(facts)), is_hurt_(facts_.end, false) {}

    /// Slots at or above are not there.
    [[nodiscard]] slot_number end() const noexcept { return facts_.end; }
    [[nodiscard]] bool is_free(slot_number slot) const noexcept { return facts_.is_free[slot]; }
    [[nodiscard]] const pool_facts& facts() const noexcept { return facts_; }

    /// `by_id`: the slots that the id table leads to. They are the objects, unless the pool is
    /// sound, which then tells of those, too, that were lost.
    void know_live(std::vector<bool> by_id) {
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
    void hurt(slot_number slot) noexcept { is_hurt_[slot] = true; }
    [[nodiscard]] bool is_hurt(slot_number slot) const noexcept { return is_hurt_[slot]; }

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

    /// Adds what is wrong with the word that lies `at` in the node of a slot; the object counts as
    /// hurt. Slot 0 holds no object.
    void add(part_report& to, slot_number slot, std::size_t at, std::string what);

private:
    const window& file_;
    const type_schema& schema_;
    pool_facts facts_;
    std::vector<bool> is_live_;
    std::vector<bool> is_hurt_;
};

} // namespace chainbase::check
