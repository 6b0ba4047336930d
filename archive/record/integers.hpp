#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace chainbase::archive::detail {

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

template <typename V, typename... Types>
concept one_of = (std::same_as<V, Types> || ...);

/// The integers that can be stored: all but bool, which has two values, and wchar_t, whose width
/// depends on the platform. 128-bit integers are named because the standard traits skip them when
/// the language extensions are off.
template <typename V>
concept integer = one_of<V, int128, uint128> || (std::integral<V> && !one_of<V, bool, wchar_t>);

template <integer V>
inline constexpr bool is_signed = V(-1) < V(0);

template <std::size_t Size>
struct unsigned_of_size;
template <>
struct unsigned_of_size<1> {
    using type = std::uint8_t;
};
template <>
struct unsigned_of_size<2> {
    using type = std::uint16_t;
};
template <>
struct unsigned_of_size<4> {
    using type = std::uint32_t;
};
template <>
struct unsigned_of_size<8> {
    using type = std::uint64_t;
};
template <>
struct unsigned_of_size<16> {
    using type = uint128;
};

/// The unsigned integer as wide as V.
template <integer V>
using unsigned_of = typename unsigned_of_size<sizeof(V)>::type;

/// Writes the value's bytes, least significant first; returns the place after them.
template <integer V>
std::byte* store_little(std::byte* to, V value) noexcept {
    auto bits = static_cast<unsigned_of<V>>(value);
    for (std::size_t i = 0; i < sizeof(V); ++i)
        to[i] = static_cast<std::byte>(bits >> (8 * i));
    return to + sizeof(V);
}

template <integer V>
[[nodiscard]] V load_little(const std::byte* from) noexcept {
    unsigned_of<V> bits = 0;
    for (std::size_t i = 0; i < sizeof(V); ++i)
        bits = static_cast<unsigned_of<V>>(bits | unsigned_of<V>(from[i]) << (8 * i));
    return static_cast<V>(bits);
}

/// Writes the value's bytes, most significant first, so that they compare as the number does.
template <integer V>
std::byte* store_big(std::byte* to, V value) noexcept {
    auto bits = static_cast<unsigned_of<V>>(value);
    for (std::size_t i = 0; i < sizeof(V); ++i)
        to[i] = static_cast<std::byte>(bits >> (8 * (sizeof(V) - 1 - i)));
    return to + sizeof(V);
}

template <integer V>
[[nodiscard]] V load_big(const std::byte* from) noexcept {
    unsigned_of<V> bits = 0;
    for (std::size_t i = 0; i < sizeof(V); ++i)
        bits = static_cast<unsigned_of<V>>(unsigned_of<V>(bits << (sizeof(V) > 1 ? 8 : 0)) |
                                           unsigned_of<V>(from[i]));
    return static_cast<V>(bits);
}

} // namespace chainbase::archive::detail
