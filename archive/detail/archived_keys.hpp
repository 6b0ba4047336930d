#pragma once

#include <archive/archived_by.hpp>
#include <archive/key.hpp>
#include <chainbase/schema.hpp>
#include <chainbase/schema_of.hpp>

#include <boost/mp11.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace chainbase::archive::detail {

/// Appends the store's bytes for the values that `from` has for Key: an object, or leading parts.
template <typename Key, typename From>
void append_key_of(byte_buffer& to, const From& from) {
    using parts = typename Key::parts;
    const auto one = [&](auto i) {
        const auto& part = parts::template get<i>(from); // named: it may be a temporary
        const auto& value = chainbase::detail::comparable(part);
        if constexpr (parts::template part<i>::is_descending)
            append_key(to, descending(value));
        else
            append_key(to, value);
    };
    const auto all = [&]<std::size_t... I>(std::index_sequence<I...>) {
        (one(std::integral_constant<std::size_t, I>()), ...);
    };
    if constexpr (std::is_same_v<From, typename parts::object>)
        all(std::make_index_sequence<parts::count>());
    else
        all(std::make_index_sequence<std::tuple_size_v<From>>());
}

/// How the rows of T are found: the keys that T::archived_by names, in that order. Behind the parts
/// of one that is not unique stands the id.
template <typename T, typename List = typename T::archived_by>
struct archived_keys;

template <typename T, typename... Tags>
struct archived_keys<T, tags<Tags...>> {
    static constexpr std::size_t count = sizeof...(Tags);
    /// The store's number of the key; `count` when the archive does not have it.
    template <typename Tag>
    static constexpr std::size_t number = boost::mp11::mp_find<tags<Tags...>, Tag>::value;

    /// By number, and how many are.
    static constexpr std::array<bool, count> is_unique_key{is_unique(key_called<T, Tags>::kind)...};
    static constexpr std::uint64_t unique_count =
        (std::uint64_t{0} + ... + (is_unique(key_called<T, Tags>::kind) ? 1 : 0));

    static_assert(
        ((is_unique(key_called<T, Tags>::kind) || !is_hashed(key_called<T, Tags>::kind)) && ...),
        "objects in the archive are found by unique or ordered keys");

    static std::vector<std::string> names() {
        return {(key_name<key_called<T, Tags>>() +
                 (is_unique(key_called<T, Tags>::kind) ? "" : ",id"))...};
    }

    template <typename Tag>
    static void append(byte_buffer& to, const T& object) {
        using key = key_called<T, Tag>;
        append_key_of<key>(to, object);
        if constexpr (!is_unique(key::kind)) append_key(to, object.id);
    }

    /// Calls visit(number, append) for each key; append(buffer) appends that of `object`.
    template <typename Visitor>
    static void each(const T& object, Visitor&& visit) {
        (visit(static_cast<std::uint32_t>(number<Tags>),
               [&](byte_buffer& to) { append<Tags>(to, object); }),
         ...);
    }
    /// The same for those that are unique.
    template <typename Visitor>
    static void each_unique(const T& object, Visitor&& visit) {
        each(object, [&](std::uint32_t number, auto&& append) {
            if (is_unique_key[number]) visit(number, append);
        });
    }
};

} // namespace chainbase::archive::detail
