#pragma once

#include <chainbase/key_parts.hpp>

#include <boost/mp11.hpp>

#include <cstddef>
#include <string_view>

namespace chainbase {

/// How the objects of a type are found by a key, besides their id.
enum class key_kind {
    ordered_unique,
    ordered_non_unique,
    ranked_unique,
    ranked_non_unique,
    hashed_unique,
    hashed_non_unique
};

[[nodiscard]] constexpr bool is_hashed(key_kind kind) noexcept {
    return kind == key_kind::hashed_unique || kind == key_kind::hashed_non_unique;
}
[[nodiscard]] constexpr bool is_ranked(key_kind kind) noexcept {
    return kind == key_kind::ranked_unique || kind == key_kind::ranked_non_unique;
}
[[nodiscard]] constexpr bool is_unique(key_kind kind) noexcept {
    return kind == key_kind::ordered_unique || kind == key_kind::ranked_unique ||
           kind == key_kind::hashed_unique;
}
[[nodiscard]] constexpr std::string_view name_of(key_kind kind) noexcept {
    constexpr std::string_view names[] = {"ordered_unique", "ordered_non_unique",
                                          "ranked_unique",  "ranked_non_unique",
                                          "hashed_unique",  "hashed_non_unique"};
    return names[static_cast<std::size_t>(kind)];
}

/// One key of a type. `Tag` names it in calls (`find<account, by_name>(...)`); the parts are
/// pointers to members or to const member functions, each ascending unless wrapped in
/// `descending<...>`:
///
///     ordered_unique<by_balance, descending<&account::balance>, &account::id>
template <key_kind Kind, typename Tag, auto... Parts>
struct key {
    static constexpr key_kind kind = Kind;
    using tag = Tag;
    using parts = key_parts<Parts...>;
};

template <typename Tag, auto... Parts>
using ordered_unique = key<key_kind::ordered_unique, Tag, Parts...>;
template <typename Tag, auto... Parts>
using ordered_non_unique = key<key_kind::ordered_non_unique, Tag, Parts...>;
template <typename Tag, auto... Parts>
using ranked_unique = key<key_kind::ranked_unique, Tag, Parts...>;
template <typename Tag, auto... Parts>
using ranked_non_unique = key<key_kind::ranked_non_unique, Tag, Parts...>;
template <typename Tag, auto... Parts>
using hashed_unique = key<key_kind::hashed_unique, Tag, Parts...>;
template <typename Tag, auto... Parts>
using hashed_non_unique = key<key_kind::hashed_non_unique, Tag, Parts...>;

/// The keys of a type, in the order in which they were declared; a type's `keys` member.
template <typename... Keys>
struct keys {
    static constexpr std::size_t count = sizeof...(Keys);
};

namespace detail {

template <typename Tag>
struct has_tag {
    template <typename Key>
    using fn = std::is_same<typename Key::tag, Tag>;
};

} // namespace detail

/// The position of the key of T that is called Tag among T's keys.
template <typename T, typename Tag>
inline constexpr std::size_t key_position =
    boost::mp11::mp_find_if_q<typename T::keys, detail::has_tag<Tag>>::value;

/// The key of T that is called Tag.
template <typename T, typename Tag>
using key_called = boost::mp11::mp_at_c<typename T::keys, key_position<T, Tag>>;

} // namespace chainbase
