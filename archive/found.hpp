#pragma once

#include <archive/record/record.hpp>
#include <archive/record/rows.hpp>

#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

namespace chainbase::archive {

namespace detail {

/// A member of an object in memory in the form in which a record_view returns it.
template <typename V>
auto view_of(const V& value) {
    static_assert(!is_structure<V>, "a nested struct is read through object() or copy()");
    if constexpr (kind_of<V>() == field_kind::text) {
        return std::string_view(value);
    } else if constexpr (kind_of<V>() == field_kind::sequence) {
        using element = element_of<V>;
        const std::span<const element> all(value.data(), value.size());
        if constexpr (byte_like<element>)
            return all;
        else if constexpr (!codec<element>::fixed)
            return std::vector<element>(all.begin(), all.end());
        else
            return packed_sequence<element>(std::as_bytes(all), sizeof(element),
                                            [](const std::byte* place) {
                                                element copy;
                                                std::memcpy(&copy, place, sizeof copy);
                                                return copy;
                                            });
    } else {
        return value;
    }
}

} // namespace detail

/// An object wherever it is: in memory, or as a row of the archive that is decoded only where it is
/// read.
///
/// Valid, like a reference, while the object stays in memory; for a row, while this handle or a
/// copy of it lives. Cheap to move. Reading is thread-safe under the state's read lock.
template <described T>
class found {
public:
    explicit found(const T& object) noexcept : object_(&object) {}
    /// Throws schema_error, damaged_error when the row is no record of a T.
    explicit found(pinned_row row) : row_(std::move(row)) { (void)view(); }

    [[nodiscard]] bool in_memory() const noexcept { return object_ != nullptr; }
    [[nodiscard]] chainbase::id<T> id() const noexcept {
        return object_ ? object_->id : chainbase::id<T>(row_.id());
    }

    /// The object in memory; null when it is in the archive.
    [[nodiscard]] const T* object() const noexcept { return object_; }

    /// One described member, by value or as a view (texts as a std::string_view, sequences as a
    /// std::span of bytes, a packed_sequence or a std::vector), the same type from both places.
    /// From a row only this member is decoded. Throws damaged_error.
    template <auto Member>
    [[nodiscard]] auto get() const {
        return object_ ? detail::view_of(object_->*Member) : view().template get<Member>();
    }

    /// The whole object, outside of shared memory. Throws damaged_error.
    [[nodiscard]] T copy() const {
        if (object_) return *object_;
        T decoded{};
        decode(row_.record(), decoded);
        return decoded;
    }

    /// Appends the object's record, the same bytes from both places. Throws limit_error.
    void append_record(byte_buffer& buffer) const {
        if (object_)
            encode(*object_, buffer);
        else
            append(buffer, row_.record());
    }

private:
    [[nodiscard]] record_view<T> view() const { return record_view<T>(row_.record()); }

    const T* object_ = nullptr;
    pinned_row row_{0, {}, nullptr}; ///< of no interest when object_ is set
};

} // namespace chainbase::archive
