#pragma once

#include <archive/bytes.hpp>
#include <archive/detail/integers.hpp>
#include <chainbase/id.hpp>

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace chainbase::archive {
template <typename Part>
struct descending;
} // namespace chainbase::archive

namespace chainbase::archive::detail {

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

template <one_of<std::byte, std::uint8_t> E, std::size_t N>
void append_part(byte_buffer& buffer, const std::array<E, N>& value) {
    append(buffer, std::as_bytes(std::span(value)));
}

// Declared before defined: parts of parts may be any of these, in any order.
template <typename Part>
void append_part(byte_buffer& buffer, const descending<Part>& part);
template <typename... Parts>
void append_part(byte_buffer& buffer, const std::tuple<Parts...>& parts);
template <typename First, typename Second>
void append_part(byte_buffer& buffer, const std::pair<First, Second>& parts);

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

} // namespace chainbase::archive::detail
