#pragma once

#include <chainbase/object/value_type.hpp>
#include <pool_allocator/buffer_layout.hpp>

#include <deque>
#include <vector>

namespace chainbase::rows {

/// The buffers in the objects of a type, from the catalogue alone: what `buffer_layout_of` tells
/// the program. Immutable; layouts are valid as long as this is.
class described_buffers {
public:
    /// Throws damaged_error when a field is not within the object, or has not the bytes of its
    /// type.
    explicit described_buffers(const type_schema& schema);
    described_buffers(const described_buffers&) = delete;
    described_buffers& operator=(const described_buffers&) = delete;

    [[nodiscard]] const buffer_layout& of_object() const noexcept { return layouts_.front(); }

private:
    using places = std::vector<buffer_layout::place>;

    void add(places& to, const value_type& type, std::uint32_t offset);
    const buffer_layout& layout_of(const value_type& element);

    std::deque<buffer_layout> layouts_; ///< the first is the object's
    std::deque<places> places_;
};

} // namespace chainbase::rows
