#pragma once

#include <chainbase/object/object_layout.hpp>
#include <chainbase/object/schema.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace chainbase {

namespace detail {

/// The compiler's name of this function, which contains that of Type; name_of_type() extracts it
/// for all compilers.
template <typename Type>
constexpr const char* text_with_type() noexcept {
    return __PRETTY_FUNCTION__;
}
/// The name of a type as it is written in the sources, with its namespaces.
template <typename Type>
std::string type_name() {
    return name_of_type(text_with_type<Type>());
}

} // namespace detail

/// The name of a key: the last part of its tag's name.
template <typename Key>
std::string key_name() {
    const std::string full = detail::type_name<typename Key::tag>();
    const auto colon = full.rfind(':');
    return colon == std::string::npos ? full : full.substr(colon + 1);
}

namespace detail {

template <typename S>
std::string type_name_of_struct();

template <typename M>
std::string type_name_of() {
    if constexpr (std::is_same_v<M, bool>)
        return "bool";
    else if constexpr (is_wide<M>)
        return std::is_same_v<M, wide_integer> ? "i128" : "u128";
    else if constexpr (is_fixed_bytes<M>)
        return "u8[" + std::to_string(M::bytes) + "]";
    else if constexpr (std::is_enum_v<M>)
        return type_name_of<std::underlying_type_t<M>>();
    else if constexpr (std::integral<M>)
        return std::string(std::is_signed_v<M> ? "i" : "u").append(std::to_string(8 * sizeof(M)));
    else if constexpr (std::floating_point<M>)
        return std::string("f").append(std::to_string(8 * sizeof(M)));
    else if constexpr (requires { typename M::object_type; })
        return "id";
    else if constexpr (requires { M::capacity; })
        return "fixed_string<" + std::to_string(M::capacity) + ">";
    else if constexpr (std::derived_from<M, shared_string>)
        return "shared_string";
    else if constexpr (std::derived_from<M, shared_buffer>)
        return "shared_vector<" + type_name_of<typename M::value_type>() + ">";
    else if constexpr (boost::describe::has_describe_members<M>::value)
        return type_name_of_struct<M>();
    else if constexpr (requires { std::tuple_size<M>::value; } && requires(M m) { m.data(); })
        return type_name_of<typename M::value_type>() + "[" +
               std::to_string(std::tuple_size<M>::value) + "]";
    else
        return "bytes<" + std::to_string(sizeof(M)) + ">";
}

template <typename S>
std::string type_name_of_struct() {
    std::string text = "{";
    boost::mp11::mp_for_each<members_of<S>>([&](auto member) {
        text += (text.size() > 1 ? ", " : "") + std::string(member.name) + " " +
                type_name_of<member_type<decltype(member)>>();
    });
    return text + "}";
}

template <typename T, auto Pointer>
std::string field_name() {
    std::string name = "function";
    using members = boost::describe::describe_members<T, boost::describe::mod_any_access>;
    boost::mp11::mp_for_each<members>([&](auto member) {
        if constexpr (std::is_same_v<std::remove_const_t<decltype(member.pointer)>,
                                     std::remove_const_t<decltype(Pointer)>>)
            if (member.pointer == Pointer) name = member.name;
    });
    return name;
}

/// The catalogue's name of a part, whose order or hash only the program may know.
template <typename T, typename Part>
std::string part_name(bool is_hashed) {
    std::string name = field_name<T, Part::pointer>();
    const bool is_own = Part::has_own_order || (is_hashed && has_hash_append<typename Part::value>);
    if (is_own && name != "function") name = "function(" + name + ")";
    return name;
}

template <typename T, typename Key>
type_schema::key describe_key() {
    type_schema::key key{key_name<Key>(), std::string(name_of(Key::kind)), {}};
    using parts = typename Key::template parts_of<T>;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        (key.parts.push_back({part_name<T, typename parts::template part<I>>(is_hashed(Key::kind)),
                              parts::template part<I>::is_descending}),
         ...);
    }(std::make_index_sequence<parts::count>());
    return key;
}

/// Throws usage_error when the members of M, or of what it holds, are described in another order
/// than they are declared: their places are computed from the description.
template <typename M>
void require_described_in_order() {
    if constexpr (std::derived_from<M, shared_buffer> || is_std_array<M>) {
        require_described_in_order<typename M::value_type>();
    } else if constexpr (is_described<M>) {
        each_member_offset<M>([](auto member, std::size_t at) {
            if (is_described_whole<M>() && offset_of<M>(member.pointer) != at)
                throw_other_order(type_name<M>(), member.name);
            require_described_in_order<member_type<decltype(member)>>();
        });
    }
}

} // namespace detail

/// The schema of T under the name it is registered with. Throws usage_error when its members are
/// described in another order than they are declared.
template <object_type T>
type_schema schema_of(const std::string& name) {
    detail::require_described_in_order<T>();
    using layout = object_layout<T>;
    using node = typename layout::node;
    type_schema schema;
    schema.name = name;
    schema.value_bytes = sizeof(T);
    schema.node_bytes = node::node_bytes;
    schema.link_bytes = layout::link_bytes;
    schema.value_offset = node::value_offset;
    schema.tables = layout::tables;
    using members = boost::describe::describe_members<T, boost::describe::mod_any_access>;
    boost::mp11::mp_for_each<members>([&](auto member) {
        using M = typename detail::member_of<std::remove_const_t<decltype(member.pointer)>>::value;
        schema.fields.push_back({member.name, detail::type_name_of<M>(),
                                 static_cast<std::uint32_t>(detail::offset_of<T>(member.pointer)),
                                 sizeof(M)});
    });
    boost::mp11::mp_for_each<boost::mp11::mp_iota_c<T::keys::count>>([&](auto k) {
        using key = boost::mp11::mp_at_c<typename T::keys, k>;
        schema.keys.push_back(detail::describe_key<T, key>());
    });
    return schema;
}

} // namespace chainbase
