#pragma once

#include <chainbase/schema.hpp>
#include <pool_allocator/pool.hpp>
#include <pool_allocator/window.hpp>

#include <cstddef>
#include <cstdint>

namespace chainbase::rows {

/// The objects of a type by slot and by id, where they are mapped. For who reads under the read
/// lock, or a state that nobody writes.
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

} // namespace chainbase::rows
