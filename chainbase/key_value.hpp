#pragma once

#include <chainbase/fixed_bytes.hpp>
#include <pool_allocator/buffer_layout.hpp>
#include <pool_allocator/keyed_hash.hpp>
#include <pool_allocator/shared_buffer.hpp>

#include <boost/mp11.hpp>

#include <array>
#include <charconv>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

/// The types that a part of a key can have: how their values are ordered, compared, hashed and
/// printed.
///
/// Ordered keys take every type with an `operator<`, hashed keys every type that is made of
/// integers, bool, enums, ids, texts, bytes, and of std::array, std::pair, std::tuple,
/// shared_vector and described structs of these, or has the function
///
///     void hash_append(chainbase::keyed_hash& to, const my_type& value);
///
/// in its namespace, which adds everything that distinguishes two values. The hash is stored in the
/// state, so it must depend on the value only. The tools order, hash and print values that the
/// catalogue describes in the same way (object/key_reader.hpp).
namespace chainbase::detail {

__extension__ typedef __int128 wide_integer;
__extension__ typedef unsigned __int128 wide_unsigned;

template <typename V>
concept is_wide = std::is_same_v<V, wide_integer> || std::is_same_v<V, wide_unsigned>;
template <typename V>
concept is_integer = std::integral<V> || is_wide<V>;
template <typename V>
concept is_id_like = requires(const V& v) {
    typename V::object_type;
    { v.value } -> std::convertible_to<std::uint32_t>;
};
template <typename V>
concept is_text_like = std::convertible_to<const V&, std::string_view>;
template <typename V>
concept is_shared_vector =
    std::derived_from<V, shared_buffer> && !std::derived_from<V, shared_string>;
template <typename V>
concept has_hash_append = requires(keyed_hash& hash, const V& v) { hash_append(hash, v); };

template <typename V>
inline constexpr bool is_fixed_bytes = false;
template <std::size_t N>
inline constexpr bool is_fixed_bytes<fixed_bytes<N>> = true;
template <typename V>
inline constexpr bool is_tuple = false;
template <typename... E>
inline constexpr bool is_tuple<std::tuple<E...>> = true;
template <typename A, typename B>
inline constexpr bool is_tuple<std::pair<A, B>> = true;

/// Elements that are hashed as raw bytes: those that the catalogue calls u8.
template <typename E>
concept is_byte = sizeof(E) == 1 && !std::is_same_v<E, bool> &&
                  ((std::is_enum_v<E> && std::is_unsigned_v<std::underlying_type_t<E>>) ||
                   (std::integral<E> && std::is_unsigned_v<E>));

/// The type that a caller passes for a part: text for strings, the part's own type otherwise.
template <typename V>
struct lookup {
    using type =
        std::conditional_t<std::derived_from<V, shared_string> || std::is_same_v<V, std::string>,
                           std::string_view, V>;
};

template <typename V>
std::string_view comparable(const V& value)
    requires(std::derived_from<V, shared_string> || std::is_same_v<V, std::string>)
{
    return value;
}
template <typename V>
const V& comparable(const V& value)
    requires(!std::derived_from<V, shared_string> && !std::is_same_v<V, std::string>)
{
    return value;
}

/// Compares by `==` or, without that operator, by neither being less than the other.
template <typename V>
bool equal_values(const V& a, const V& b) {
    if constexpr (std::equality_comparable<V>) {
        return a == b;
    } else {
        return !(a < b) && !(b < a);
    }
}

template <typename V>
bool less_value(const V& a, const V& b) {
    return a < b;
}

/// Negative, zero or positive, as a orders before, with or after b.
template <typename V>
int order_of_values(const V& a, const V& b) {
    if constexpr (std::three_way_comparable<V>) {
        const auto order = a <=> b;
        return order < 0 ? -1 : order > 0 ? 1 : 0;
    } else {
        return less_value(a, b) ? -1 : less_value(b, a) ? 1 : 0;
    }
}

/// XXH3 of bytes. Anybody can compute it: not for a table whose keys others choose.
[[nodiscard]] std::uint64_t hash_of_bytes(std::string_view bytes, std::uint64_t seed) noexcept;

template <typename V>
void add_to(keyed_hash& hash, const V& value) noexcept;

template <typename E>
void add_elements(keyed_hash& hash, const E* elements, std::size_t count) noexcept {
    if constexpr (is_byte<E>)
        hash.add(std::string_view(reinterpret_cast<const char*>(elements), count));
    else
        for (std::size_t i = 0; i < count; ++i)
            add_to(hash, elements[i]);
}

/// Adds a part of a key. Hashes are stored in the segment, so they depend only on the values and
/// the table's seed.
template <typename V>
void add_to(keyed_hash& hash, const V& value) noexcept {
    if constexpr (has_hash_append<V>) {
        hash_append(hash, value);
    } else if constexpr (is_wide<V>) {
        hash.add(static_cast<std::uint64_t>(value));
        hash.add(static_cast<std::uint64_t>(value >> 64));
    } else if constexpr (std::integral<V> || std::is_enum_v<V>) {
        hash.add(static_cast<std::uint64_t>(value));
    } else if constexpr (is_id_like<V>) {
        hash.add(std::uint64_t{value.value});
    } else if constexpr (requires { value.words(); }) {
        for (const std::uint64_t word : value.words())
            hash.add(word);
    } else if constexpr (is_text_like<V>) {
        hash.add(std::string_view(value));
    } else if constexpr (is_fixed_bytes<V> || is_std_array<V>) {
        add_elements(hash, value.data(), value.size());
    } else if constexpr (is_shared_vector<V>) {
        if constexpr (!is_byte<typename V::value_type>) hash.add(std::uint64_t{value.size()});
        add_elements(hash, value.data(), value.size());
    } else if constexpr (is_tuple<V>) {
        std::apply([&](const auto&... each) { (add_to(hash, each), ...); }, value);
    } else {
        static_assert(
            is_described<V>,
            "a part of a hashed key is of a type that has no hash: describe its members "
            "(BOOST_DESCRIBE_STRUCT), or declare void hash_append(chainbase::keyed_hash&, "
            "const type&) in its namespace");
        boost::mp11::mp_for_each<members_of<V>>(
            [&](auto member) { add_to(hash, value.*member.pointer); });
    }
}

/// Whether add_to() has a hash for V.
template <typename V>
constexpr bool is_hashable() {
    if constexpr (has_hash_append<V> || is_integer<V> || std::is_enum_v<V> || is_id_like<V> ||
                  is_text_like<V> || is_fixed_bytes<V>) {
        return true;
    } else if constexpr (is_std_array<V> || is_shared_vector<V>) {
        return is_hashable<typename V::value_type>();
    } else if constexpr (is_tuple<V>) {
        return []<template <typename...> typename Tuple, typename... E>(
                   std::type_identity<Tuple<E...>>) {
            return (is_hashable<E>() && ...);
        }(std::type_identity<V>());
    } else if constexpr (is_described<V>) {
        bool all = true;
        boost::mp11::mp_for_each<members_of<V>>(
            [&](auto member) { all = all && is_hashable<member_type<decltype(member)>>(); });
        return all;
    } else {
        return false;
    }
}

/// Whether Part can hold the value `key`; else no object's part equals it.
template <typename Part, typename Key>
bool can_be(const Key& key) {
    if constexpr (is_integer<Part> && is_integer<Key>) {
        const auto converted = static_cast<Part>(key);
        return static_cast<Key>(converted) == key && (converted < Part{}) == (key < Key{});
    } else if constexpr (requires { Part::fits(key); } && !std::is_same_v<Part, Key>) {
        return Part::fits(key);
    } else {
        return true;
    }
}

/// @name Values in messages, as the tools print them
/// @{
[[nodiscard]] std::string text_of_integer(wide_integer value);
[[nodiscard]] std::string text_of_integer(wide_unsigned value);
[[nodiscard]] std::string text_of_float(double value);
/// In quotation marks, with escapes as in JSON.
[[nodiscard]] std::string quoted_text(std::string_view value);

template <typename V>
[[nodiscard]] std::string text_of(const V& value);

template <typename E>
[[nodiscard]] std::string text_of_elements(const E* elements, std::size_t count) {
    if constexpr (is_byte<E>) return to_hex(std::as_bytes(std::span(elements, count)));
    std::string text = "[";
    for (std::size_t i = 0; i < count; ++i)
        text.append(i ? "," : "").append(text_of(elements[i]));
    return text.append("]");
}

template <typename V>
std::string text_of(const V& value) {
    if constexpr (std::is_same_v<V, bool>) {
        return value ? "true" : "false";
    } else if constexpr (is_wide<V>) {
        return text_of_integer(value);
    } else if constexpr (std::is_enum_v<V>) {
        return std::to_string(+static_cast<std::underlying_type_t<V>>(value));
    } else if constexpr (std::integral<V>) {
        return std::to_string(+value);
    } else if constexpr (std::floating_point<V>) {
        return text_of_float(value);
    } else if constexpr (is_id_like<V>) {
        return std::to_string(value.value);
    } else if constexpr (is_text_like<V>) {
        return quoted_text(value);
    } else if constexpr (is_fixed_bytes<V> || is_std_array<V> || is_shared_vector<V>) {
        return text_of_elements(value.data(), value.size());
    } else if constexpr (is_tuple<V>) {
        std::string text;
        std::apply(
            [&](const auto&... each) {
                ((text.append(text.empty() ? "(" : ", ").append(text_of(each))), ...);
            },
            value);
        return text.append(")");
    } else if constexpr (is_described<V>) {
        std::string text = "{";
        boost::mp11::mp_for_each<members_of<V>>([&](auto member) {
            text.append(text.size() > 1 ? ", " : "").append(member.name).append(": ");
            text.append(text_of(value.*member.pointer));
        });
        return text.append("}");
    } else if constexpr (std::is_trivially_copyable_v<V>) {
        return to_hex(std::as_bytes(std::span(&value, 1)));
    } else {
        return "(a value that is not described)";
    }
}
/// @}

} // namespace chainbase::detail
