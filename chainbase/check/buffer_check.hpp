#pragma once

#include <chainbase/check/mapped_state.hpp>
#include <chainbase/check/object_slots.hpp>
#include <chainbase/check/report.hpp>
#include <chainbase/rows/buffer_source.hpp>
#include <pool_allocator/size_classes.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace chainbase::check {

/// The buffers of strings and arrays: looks at the pools of all size classes and at the page runs,
/// then takes the references of objects, each of which must lead to a buffer of its own.
class buffer_check final : public rows::buffer_source {
public:
    /// `state` outlives it.
    explicit buffer_check(const mapped_state& state);

    /// What a handle refers to; nothing when that is not within what was used of its file.
    [[nodiscard]] std::optional<std::span<const std::byte>>
    content(buffer_handle handle) const override;
    /// Enters the reference of an object; returns what is wrong with it, empty if nothing is.
    [[nodiscard]] std::string refer(buffer_handle handle);
    /// Ends the references: adds what nobody refers to, if those of all objects were entered, and
    /// returns the report, a part for each file.
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
