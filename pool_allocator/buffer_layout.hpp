#pragma once

#include <boost/describe.hpp>
#include <boost/mp11.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace chainbase {

class shared_buffer;

/// Where the handles of shared buffers lie in a value, and in the elements of those buffers.
///
/// Made from a type by `buffer_layout_of`, and from the catalogue by rows::described_buffers, so
/// that the program and the tools, which lack its headers, share one walk.
struct buffer_layout {
    struct place {
        std::uint32_t offset;          ///< of the handle, in the value
        const buffer_layout* elements; ///< of what the buffer holds; never null
    };

    std::uint32_t bytes = 1; ///< of the value
    std::span<const place> places;

    /// Whether a value holds no buffers, so that its bytes are all there is to it.
    [[nodiscard]] constexpr bool is_flat() const noexcept { return places.empty(); }

    /// Calls visit(offset, elements) for every handle in `length` bytes of values that follow each
    /// other; bytes behind the last whole value are ignored.
    template <typename Visitor>
    void each_handle(std::size_t length, Visitor&& visit) const {
        if (is_flat()) return;
        for (std::size_t at = 0; length - at >= bytes; at += bytes)
            for (const place& one : places)
                visit(at + one.offset, *one.elements);
    }
};

namespace detail {

template <typename Member>
struct member_of;
template <typename T, typename M>
struct member_of<M T::*> {
    using object = T;
    using value = M;
};
template <typename T, typename R>
struct member_of<R (T::*)() const> {
    using object = T;
    using value = std::remove_cvref_t<R>;
};
template <typename T, typename R>
struct member_of<R (T::*)() const noexcept> : member_of<R (T::*)() const> {};

template <typename T>
using members_of = boost::describe::describe_members<T, boost::describe::mod_any_access>;

/// The type of a described member.
template <typename Descriptor>
using member_type = typename member_of<std::remove_const_t<decltype(Descriptor::pointer)>>::value;

template <typename T>
concept is_described = boost::describe::has_describe_members<T>::value;

template <typename M>
inline constexpr bool is_std_array = false;
template <typename E, std::size_t N>
inline constexpr bool is_std_array<std::array<E, N>> = true;

template <typename M>
inline constexpr bool refers_elsewhere = std::is_pointer_v<M> || std::is_member_pointer_v<M>;
template <typename C, typename Traits>
inline constexpr bool refers_elsewhere<std::basic_string_view<C, Traits>> = true;
template <typename E, std::size_t N>
inline constexpr bool refers_elsewhere<std::span<E, N>> = true;

/// Calls visit(descriptor, offset) for the described members, which are taken to follow each other
/// as a compiler lays them out. Returns where they end.
template <typename T, typename Visitor>
constexpr std::size_t each_member_offset(Visitor&& visit) {
    std::size_t end = 0;
    boost::mp11::mp_for_each<members_of<T>>([&](auto member) {
        using M = member_type<decltype(member)>;
        end = (end + alignof(M) - 1) / alignof(M) * alignof(M);
        visit(member, end);
        end += sizeof(M);
    });
    return end;
}

/// Whether the described members, one after the other, make up the whole of T.
template <typename T>
constexpr bool is_described_whole() {
    const std::size_t end = each_member_offset<T>([](auto, std::size_t) {});
    return (end + alignof(T) - 1) / alignof(T) * alignof(T) == sizeof(T);
}

/// Whether a value of M may lie in shared memory: trivially copyable without pointers and views, a
/// shared buffer, or a described struct or std::array of such.
template <typename M>
constexpr bool is_shareable() {
    if constexpr (std::derived_from<M, shared_buffer>) {
        return true;
    } else if constexpr (is_std_array<M>) {
        return is_shareable<typename M::value_type>();
    } else if constexpr (is_described<M>) {
        bool good = std::is_trivially_copyable_v<M> || is_described_whole<M>();
        boost::mp11::mp_for_each<members_of<M>>(
            [&](auto member) { good = good && is_shareable<member_type<decltype(member)>>(); });
        return good;
    } else {
        return std::is_trivially_copyable_v<M> && !refers_elsewhere<M>;
    }
}

template <typename M>
constexpr std::size_t count_places() {
    if constexpr (std::derived_from<M, shared_buffer>) {
        return 1;
    } else if constexpr (is_std_array<M>) {
        return std::tuple_size_v<M> * count_places<typename M::value_type>();
    } else if constexpr (is_described<M>) {
        std::size_t count = 0;
        boost::mp11::mp_for_each<members_of<M>>(
            [&](auto member) { count += count_places<member_type<decltype(member)>>(); });
        return count;
    } else {
        return 0;
    }
}

template <typename M>
struct layout_of {
    static const buffer_layout value;
};

/// Writes the places in an M that begins at `offset`; returns where the next one is written.
template <typename M>
constexpr buffer_layout::place* write_places(buffer_layout::place* to, std::size_t offset) {
    if constexpr (std::derived_from<M, shared_buffer>) {
        *to++ = {static_cast<std::uint32_t>(offset), &layout_of<typename M::value_type>::value};
    } else if constexpr (is_std_array<M>) {
        for (std::size_t i = 0; i < std::tuple_size_v<M>; ++i)
            to = write_places<typename M::value_type>(to,
                                                      offset + i * sizeof(typename M::value_type));
    } else if constexpr (is_described<M>) {
        each_member_offset<M>([&](auto member, std::size_t at) {
            to = write_places<member_type<decltype(member)>>(to, offset + at);
        });
    }
    return to;
}

template <typename M>
inline constexpr auto places_in = [] {
    std::array<buffer_layout::place, count_places<M>()> places{};
    write_places<M>(places.data(), 0);
    return places;
}();

template <typename M>
constinit const buffer_layout layout_of<M>::value{sizeof(M), places_in<M>};

} // namespace detail

/// The buffers in a value of M.
template <typename M>
inline constexpr const buffer_layout& buffer_layout_of = detail::layout_of<M>::value;

} // namespace chainbase
