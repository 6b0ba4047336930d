#pragma once

#include <pool_allocator/pool.hpp>

namespace chainbase {

/// The flat table that finds an object's slot from its id: one 4-byte slot number per id ever
/// given, 0 for a removed object. Entries at or above the type's next id are garbage by design
/// (undo does not clear them), so a caller tests the id against next id first.
class id_table {
public:
    explicit id_table(window& window) noexcept : window_(window) {}

    static constexpr window::geometry geometry{window_kind::ids, sizeof(slot_number),
                                               window_header::page_bytes};

    /// The slot of object `id`, 0 if it was removed. Requires id < next id.
    [[nodiscard]] slot_number at(std::uint32_t id) const noexcept { return entry(id); }

    /// Asks for the memory of an entry.
    void prefetch(std::uint32_t id) const noexcept { __builtin_prefetch(&entry(id)); }

    /// Makes room for entry `id`. Throws out_of_space_error, limit_error.
    void reserve(std::uint32_t id) {
        const std::size_t end = window_header::page_bytes + (std::size_t{id} + 1) * entry_bytes;
        if (end > window_.bytes()) window_.grow_to(end);
    }
    /// Enters an id that was never entered before. Needs no log: it is not below next id.
    void set_new(std::uint32_t id, slot_number slot) noexcept {
        write_barrier::active().written(&entry(id), entry_bytes);
        entry(id) = slot;
    }
    /// Changes the entry of an existing id, through the barrier.
    void set(std::uint32_t id, slot_number slot) noexcept {
        write_barrier::active().record_word(&entry(id));
        entry(id) = slot;
    }

    /// Punches whole pages without a live entry (not on tmpfs) and cuts what lies beyond `next_id`.
    /// Requires that nothing can be undone.
    void trim(std::uint32_t next_id);

    /// Where the file's bytes are, `live` of its entries being in use.
    [[nodiscard]] usage measure(std::uint32_t live) const noexcept;

private:
    static constexpr std::size_t entry_bytes = sizeof(slot_number);

    [[nodiscard]] slot_number& entry(std::uint32_t id) const noexcept {
        return reinterpret_cast<slot_number*>(window_.base() + window_header::page_bytes)[id];
    }

    window& window_;
};

} // namespace chainbase
