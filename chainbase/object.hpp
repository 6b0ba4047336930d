#pragma once

#include <chainbase/fixed_string.hpp>
#include <chainbase/id.hpp>
#include <chainbase/keys.hpp>
#include <pool_allocator/shared_buffer.hpp>

#include <boost/describe.hpp>
#include <boost/mp11.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

/// All that the declaration of an object type takes: id, keys, fixed_string, the shared buffers,
/// and Boost.Describe's macros. What stores objects is in database.hpp, which costs ten times as
/// much to compile: headers that declare types include this one.
namespace chainbase {

namespace detail {

template <typename T>
using members_of = boost::describe::describe_members<T, boost::describe::mod_any_access>;

/// The type of a described member.
template <typename Descriptor>
using member_type = typename member_of<std::remove_const_t<decltype(Descriptor::pointer)>>::value;

template <typename M>
inline constexpr bool refers_elsewhere = std::is_pointer_v<M>;
template <typename C, typename Traits>
inline constexpr bool refers_elsewhere<std::basic_string_view<C, Traits>> = true;
template <typename E, std::size_t N>
inline constexpr bool refers_elsewhere<std::span<E, N>> = true;

template <typename M>
inline constexpr bool is_shareable = std::derived_from<M, shared_buffer> ||
                                     (std::is_trivially_copyable_v<M> && !refers_elsewhere<M>);

template <typename T>
constexpr bool members_are_shareable() {
    bool good = true;
    boost::mp11::mp_for_each<members_of<T>>(
        [&](auto member) { good = good && is_shareable<member_type<decltype(member)>>; });
    return good;
}

/// Whether the described members, one after the other, make up the whole of T.
template <typename T>
constexpr bool is_described_whole() {
    const auto rounded = [](std::size_t bytes, std::size_t to) {
        return (bytes + to - 1) / to * to;
    };
    std::size_t bytes = 0;
    boost::mp11::mp_for_each<members_of<T>>([&](auto member) {
        using M = member_type<decltype(member)>;
        bytes = rounded(bytes, alignof(M)) + sizeof(M);
    });
    return rounded(bytes, alignof(T)) == sizeof(T);
}

template <typename T>
constexpr std::size_t buffer_members() {
    std::size_t found = 0;
    boost::mp11::mp_for_each<members_of<T>>([&](auto member) {
        found += std::derived_from<member_type<decltype(member)>, shared_buffer>;
    });
    return found;
}

} // namespace detail

/// What makes a struct an object type: a first member `id` of type id<T>, described members that
/// are trivially copyable or shared buffers, a default constructor, and a member type `keys`.
template <typename T>
concept object_type = requires(T object) {
    requires std::is_same_v<decltype(object.id), id<T>>;
    typename T::keys;
    requires std::is_default_constructible_v<T>;
    requires boost::describe::has_describe_members<T>::value;
};

} // namespace chainbase
