#pragma once

#include <archive/record/bytes.hpp>
#include <archive/record/integers.hpp>
#include <chainbase/fixed_bytes.hpp>
#include <chainbase/id.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace chainbase::rows {
class probe;
}

/// Keys whose bytes compare (memcmp, a prefix first) as the values do, alone and in sequence.
///
///     unsigned     big-endian                     bool, enum, id   as the number beneath
///     signed       big-endian, sign bit flipped   fixed_bytes, arrays of bytes   as they are
///     text         its bytes, each 0x00 as 0x00 0xff, then 0x00 0x01: orders as unsigned bytes do
///     array        one element after the other
///
///     descending   the value's key with every byte complemented
///
///     tuple, pair  one part after the other
///
/// No key of a type is a prefix of another one of the same type, so the order of a composite key is
/// that of its parts whatever text they hold, and the key of the leading parts is a prefix of all
/// keys that start with them. Floating point does not compile: it has no agreed order.
///
/// Example: make_key(author, descending(created)) finds an author's newest first.
/// All functions here may be called from any thread.
namespace chainbase::archive {

/// A value that orders backwards within a key.
template <typename Part>
struct descending {
    Part value;
    explicit descending(Part part) : value(std::move(part)) {}
};

namespace detail {

/// Text: 0x00 within it becomes 0x00 0xff and its end 0x00 0x01, which is below every
/// continuation, so a text comes before those it is a prefix of.
void append_text(byte_buffer& buffer, std::string_view text);

/// Complements all bytes from `start` on.
void complement(byte_buffer& buffer, std::size_t start) noexcept;

template <integer V>
void append_part(byte_buffer& buffer, V value) {
    auto bits = static_cast<unsigned_of<V>>(value);
    if constexpr (is_signed<V>)
        bits ^= static_cast<unsigned_of<V>>(unsigned_of<V>(1) << (8 * sizeof(V) - 1));
    const std::size_t at = buffer.size();
    buffer.resize(at + sizeof(V));
    store_big(buffer.data() + at, bits);
}

template <std::same_as<bool> V>
void append_part(byte_buffer& buffer, V value) {
    buffer.push_back(std::byte(value ? 1 : 0));
}

template <typename V>
    requires std::is_enum_v<V>
void append_part(byte_buffer& buffer, V value) {
    append_part(buffer, static_cast<std::underlying_type_t<V>>(value));
}

template <typename T>
void append_part(byte_buffer& buffer, id<T> value) {
    append_part(buffer, value.value);
}

template <typename V>
    requires std::convertible_to<const V&, std::string_view>
void append_part(byte_buffer& buffer, const V& value) {
    append_text(buffer, value);
}

template <std::size_t N>
void append_part(byte_buffer& buffer, const fixed_bytes<N>& value) {
    append(buffer, std::span(value.data(), N));
}

// Declared before defined: parts of parts may be any of these, in any order.
template <typename E, std::size_t N>
void append_part(byte_buffer& buffer, const std::array<E, N>& value);
template <typename Part>
void append_part(byte_buffer& buffer, const descending<Part>& part);
template <typename... Parts>
void append_part(byte_buffer& buffer, const std::tuple<Parts...>& parts);
template <typename First, typename Second>
void append_part(byte_buffer& buffer, const std::pair<First, Second>& parts);

template <typename E, std::size_t N>
void append_part(byte_buffer& buffer, const std::array<E, N>& value) {
    if constexpr (one_of<E, std::byte, std::uint8_t>)
        append(buffer, std::as_bytes(std::span(value)));
    else
        for (const E& element : value)
            append_part(buffer, element);
}

template <typename Part>
void append_part(byte_buffer& buffer, const descending<Part>& part) {
    const std::size_t start = buffer.size();
    append_part(buffer, part.value);
    complement(buffer, start);
}

template <typename... Parts>
void append_part(byte_buffer& buffer, const std::tuple<Parts...>& parts) {
    std::apply([&](const Parts&... part) { (append_part(buffer, part), ...); }, parts);
}

template <typename First, typename Second>
void append_part(byte_buffer& buffer, const std::pair<First, Second>& parts) {
    append_part(buffer, parts.first);
    append_part(buffer, parts.second);
}

/// The prefix of the store's keys that match a probe; nothing when one of its parts has no key
/// bytes. Keys that are not unique continue with the id.
[[nodiscard]] std::optional<byte_buffer> key_of(const rows::probe& wanted);

} // namespace detail

/// What a key can be made of.
template <typename Part>
concept key_part =
    requires(byte_buffer& buffer, const Part& part) { detail::append_part(buffer, part); };

/// Appends the key of `parts`, first to last.
template <key_part... Parts>
void append_key(byte_buffer& buffer, const Parts&... parts) {
    (detail::append_part(buffer, parts), ...);
}

/// Returns the key of `parts`, first to last.
template <key_part... Parts>
[[nodiscard]] byte_buffer make_key(const Parts&... parts) {
    byte_buffer key;
    append_key(key, parts...);
    return key;
}

/// Whether `key` starts with `prefix`: where a scan from a key of leading parts ends.
[[nodiscard]] inline bool starts_with(bytes_view key, bytes_view prefix) noexcept {
    return as_text(key).starts_with(as_text(prefix));
}

} // namespace chainbase::archive
