#pragma once

#include <archive/record/bytes.hpp>
#include <archive/record/record_codec.hpp>

#include <cstdint>
#include <string>
#include <typeinfo>

/// Records: the canonical bytes of an object, the same from every compiler and on every machine.
///
///     record   := fingerprint:u32  field*            fields in the order they are described
///     integer  := little-endian, 1, 2, 4, 8 or 16 bytes       bool := 0 | 1, one byte
///     enum     := its underlying integer                      id<T> := u32
///     text     := length:u32 byte*       anything that reads as and is assigned from a string_view
///     sequence := count:u32 element*     contiguous, assigned from a span
///     array    := element*               std::array, fixed_bytes
///     struct   := field*                 any type described with Boost.Describe, bases first
///
/// Every value has exactly one encoding, so equal objects have equal bytes. There is no padding and
/// no alignment. The fingerprint is FNV-1a of the layout's text (names and types of all fields,
/// nested ones too, but no type names), so a renamed, reordered, added or retyped field is
/// recognised before anything is read.
///
/// Floating point, pointers and wchar_t have no canonical form and do not compile.
/// All functions here may be called from any thread.
namespace chainbase::archive {

/// A type whose members are described with Boost.Describe.
template <typename T>
concept described = std::is_class_v<T> && detail::is_structure<T>;

/// The layout as text, e.g. `{id:id,author:text<16>,votes:[u64],paid:{value:i64}}`.
template <described T>
[[nodiscard]] std::string record_layout() {
    detail::text_sink sink;
    detail::codec<T>::layout(sink);
    return std::move(sink.text);
}

/// The 32 bits a record of T starts with. Two layouts that differ have different ones but for one
/// chance in 2^32; the store's tables are per type, so nothing rests on it alone.
template <described T>
inline constexpr std::uint32_t record_fingerprint = [] {
    detail::hash_sink sink;
    detail::codec<T>::layout(sink);
    return sink.hash;
}();

/// Appends the record of `object` to `buffer`; throws limit_error, and leaves the buffer as it was,
/// when a text or sequence has 2^32 elements or more.
template <described T>
void encode(const T& object, byte_buffer& buffer) {
    const std::size_t start = buffer.size();
    buffer.resize(start + sizeof(std::uint32_t) + detail::codec<T>::size(object));
    std::byte* to = detail::store_little(buffer.data() + start, record_fingerprint<T>);
    detail::codec<T>::write(to, object);
}

/// The fields of a described struct within a record, each read where it stands: get() steps over
/// the fields before it (a length word each, or a constant) and decodes only its own.
///
/// A view owns nothing: it and what it returns are valid as long as the bytes are. It is cheap to
/// copy. Nested structs come as a fields_view of their own.
template <described T>
class fields_view {
public:
    fields_view(bytes_view record, std::size_t at) noexcept : record_(record), at_(at) {}

    /// Returns the described member, in the form that needs no copy: integers, enums, ids and
    /// std::array by value; text as a std::string_view; sequences of single bytes as a std::span,
    /// of other elements of fixed size as a packed_sequence, of others as a std::vector; nested
    /// structs as a fields_view.
    /// Throws damaged_error (type, field, offset) when the bytes end before it does.
    template <auto Member>
    [[nodiscard]] auto get() const {
        constexpr std::size_t index = detail::member_index<T, Member>;
        static_assert(index < detail::member_count<T>, "the member is not described");
        detail::record_reader reader(record_, typeid(T), at_);
        return detail::view_member<T, index, chainbase::archive::fields_view>(reader);
    }

private:
    bytes_view record_;
    std::size_t at_;
};

/// A whole record read in place; see fields_view.
template <typename T>
class record_view : public fields_view<T> {
public:
    /// Looks at the fingerprint only. Throws schema_error when it is another layout's,
    /// damaged_error when there is none.
    explicit record_view(bytes_view record)
        : fields_view<T>(record, detail::check_fingerprint<T>(record, record_fingerprint<T>)) {}
};

/// As decode(), of what follows the fingerprint at `at`.
template <described T>
void decode_content(bytes_view record, std::size_t at, T& object) {
    detail::record_reader reader(record, typeid(T), at);
    detail::codec<T>::read(reader, object, {nullptr, nullptr});
    if (reader.left() != 0)
        reader.fail({nullptr, "(end)"}, std::to_string(reader.left()) + " bytes too many");
}

/// Sets every described member of `object` from a record.
///
/// Throws schema_error when the record has another layout, damaged_error (type, field, offset) when
/// it is no encoding of a T: too short, too long, a bool that is neither 0 nor 1, a text the field
/// cannot hold. Reads and allocates nothing beyond what `record` holds. The object is then partly
/// assigned: decode within an operation that is rolled back, or into a fresh object.
template <described T>
void decode(bytes_view record, T& object) {
    decode_content(record, detail::check_fingerprint<T>(record, record_fingerprint<T>), object);
}

} // namespace chainbase::archive
