#pragma once

#include <chainbase/fixed_string.hpp>
#include <tools/block_log/bytes.hpp>

#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>

#include <concepts>
#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>
#include <variant>

/// Plain structs to bytes and back, by their Boost.Describe description: the members in their
/// order, nothing between them. Numbers, texts (std::string, fixed_string), bytes, described
/// structs and variants of these (the alternative's index in front). Adding a member or an
/// alternative anywhere but at a variant's end changes the format.
namespace chainbase::codec {

template <class T>
inline constexpr bool is_fixed_string = false;
template <std::size_t N>
inline constexpr bool is_fixed_string<fixed_string<N>> = true;

template <class T>
inline constexpr bool is_variant = false;
template <class... T>
inline constexpr bool is_variant<std::variant<T...>> = true;

template <class T>
using members = boost::describe::describe_members<T, boost::describe::mod_public>;

template <class T>
void write(byte_writer& writer, const T& value) {
    if constexpr (std::unsigned_integral<T>) {
        writer.unsigned_number(value);
    } else if constexpr (std::signed_integral<T>) {
        writer.signed_number(value);
    } else if constexpr (is_fixed_string<T>) {
        writer.byte_string(bytes_of(value.view()));
    } else if constexpr (std::same_as<T, std::string> || std::same_as<T, bytes>) {
        writer.byte_string(std::as_bytes(std::span(value)));
    } else if constexpr (is_variant<T>) {
        writer.unsigned_number(value.index());
        std::visit([&](const auto& held) { write(writer, held); }, value);
    } else {
        boost::mp11::mp_for_each<members<T>>(
            [&](auto member) { write(writer, value.*member.pointer); });
    }
}

template <std::signed_integral T>
T read_signed(byte_reader& reader) {
    const std::int64_t value = reader.signed_number();
    if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max())
        reader.fail("number " + std::to_string(value) + " is out of range");
    return static_cast<T>(value);
}

template <class T>
T read_fixed_string(byte_reader& reader) {
    const std::string_view text = text_of(reader.byte_string());
    if (!T::fits(text))
        reader.fail("a text that is longer than " + std::to_string(T::capacity) +
                    " bytes or holds a zero byte");
    return T::of_fitting(text);
}

template <class T>
T read(byte_reader& reader);

template <class Variant>
Variant read_variant(byte_reader& reader) {
    constexpr std::size_t alternatives = std::variant_size_v<Variant>;
    const std::uint64_t chosen = reader.unsigned_number(alternatives - 1);
    return boost::mp11::mp_with_index<alternatives>(chosen, [&](auto index) {
        using held = std::variant_alternative_t<index(), Variant>;
        return Variant(std::in_place_index<index()>, read<held>(reader));
    });
}

/// Throws damaged_error (see byte_reader) unless a T comes next.
template <class T>
T read(byte_reader& reader) {
    if constexpr (std::unsigned_integral<T>) {
        return static_cast<T>(reader.unsigned_number(std::numeric_limits<T>::max()));
    } else if constexpr (std::signed_integral<T>) {
        return read_signed<T>(reader);
    } else if constexpr (is_fixed_string<T>) {
        return read_fixed_string<T>(reader);
    } else if constexpr (std::same_as<T, std::string>) {
        return std::string(text_of(reader.byte_string()));
    } else if constexpr (std::same_as<T, bytes>) {
        const byte_view view = reader.byte_string();
        return bytes(view.begin(), view.end());
    } else if constexpr (is_variant<T>) {
        return read_variant<T>(reader);
    } else {
        T result;
        boost::mp11::mp_for_each<members<T>>([&](auto member) {
            using field = std::remove_reference_t<decltype(result.*member.pointer)>;
            result.*member.pointer = read<field>(reader);
        });
        return result;
    }
}

/// The value as bytes; equal values give equal bytes.
template <class T>
[[nodiscard]] bytes encode(const T& value) {
    bytes result;
    byte_writer writer(result);
    write(writer, value);
    return result;
}

/// The inverse of encode. Throws damaged_error with the byte offset unless `encoded` is exactly one
/// T; messages call it `name`.
template <class T>
[[nodiscard]] T decode(byte_view encoded, std::string name) {
    byte_reader reader(encoded, std::move(name));
    T result = read<T>(reader);
    reader.finish();
    return result;
}

} // namespace chainbase::codec
