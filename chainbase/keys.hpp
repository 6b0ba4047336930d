#pragma once

#include <pool_allocator/keyed_hash.hpp>
#include <pool_allocator/shared_buffer.hpp>

#include <boost/mp11.hpp>

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace chainbase {

/// Marks a part of an ordered key as descending.
template <auto Part>
struct descending_part {};
template <auto Part>
inline constexpr descending_part<Part> descending{};

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

/// Where a member lies in its object; 0 for a computed part.
template <typename T, typename M>
std::size_t offset_of(M T::* member) noexcept {
    if constexpr (std::is_function_v<M>) {
        return 0;
    } else {
        alignas(T) static std::byte storage[sizeof(T)];
        const T& object = reinterpret_cast<const T&>(storage);
        return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&(object.*member)) -
                                        storage);
    }
}

template <auto Part>
struct part {
    using member = member_of<std::remove_const_t<decltype(Part)>>;
    using object = typename member::object;
    using value = typename member::value;
    static constexpr auto pointer = Part;
    static constexpr bool is_descending = false;

    static decltype(auto) get(const object& from) {
        if constexpr (std::is_member_function_pointer_v<decltype(Part)>)
            return (from.*Part)();
        else
            return (from.*Part); // a reference
    }
};
template <auto Part>
struct part_for {
    using type = part<Part>;
};
template <auto Inner>
struct descending_for : part<Inner> {
    static constexpr bool is_descending = true;
};
template <typename Marked>
struct unwrap;
template <auto Inner>
struct unwrap<descending_part<Inner>> {
    using type = descending_for<Inner>;
};
template <auto Part>
    requires requires { typename unwrap<std::remove_const_t<decltype(Part)>>::type; }
struct part_for<Part> {
    using type = typename unwrap<std::remove_const_t<decltype(Part)>>::type;
};

/// What a caller passes for a part: text for shared strings, the part's own type otherwise.
template <typename V>
struct lookup {
    using type = V;
};
template <std::derived_from<shared_string> V>
struct lookup<V> {
    using type = std::string_view;
};

template <typename V>
std::string_view comparable(const V& value)
    requires std::derived_from<V, shared_string>
{
    return value.view();
}
template <typename V>
const V& comparable(const V& value)
    requires(!std::derived_from<V, shared_string>)
{
    return value;
}

/// XXH3 of bytes, which anybody can compute: not for a table whose keys others choose.
[[nodiscard]] std::uint64_t hash_of_bytes(std::string_view bytes, std::uint64_t seed) noexcept;

/// Adds a part of a key. Hashes are stored in the segment, so they depend on nothing but the values
/// and the table's seed.
template <typename V>
void add_to(keyed_hash& hash, const V& value) noexcept {
    if constexpr (std::integral<V> || std::is_enum_v<V>) {
        hash.add(static_cast<std::uint64_t>(value));
    } else if constexpr (requires {
                             typename V::object_type;
                             value.value;
                         }) {
        add_to(hash, value.value);
    } else if constexpr (requires { value.words(); }) {
        for (const std::uint64_t word : value.words())
            hash.add(word);
    } else {
        hash.add(std::string_view(comparable(value)));
    }
}

/// Whether Part can have the value `key`; an object's part never equals one that it cannot.
template <typename Part, typename Key>
bool can_be(const Key& key) {
    if constexpr (std::integral<Part> && std::integral<Key>) {
        const auto converted = static_cast<Part>(key);
        return static_cast<Key>(converted) == key && (converted < Part{}) == (key < Key{});
    } else if constexpr (requires { Part::fits(key); } && !std::is_same_v<Part, Key>) {
        return Part::fits(key);
    } else {
        return true;
    }
}

template <typename V>
std::string text_of(const V& value) {
    if constexpr (std::is_enum_v<V>)
        return std::to_string(static_cast<std::underlying_type_t<V>>(value));
    else if constexpr (std::integral<V>)
        return std::to_string(value);
    else if constexpr (requires {
                           typename V::object_type;
                           value.value;
                       })
        return std::to_string(value.value);
    else if constexpr (std::convertible_to<const V&, std::string_view>)
        return std::string("\"").append(std::string_view(value)).append("\"");
    else
        return "?";
}

/// Throws the usage_error of a bound that no key can have.
[[noreturn]] void throw_no_bound(const std::string& bound);

} // namespace detail

/// The parts of a key, compared one after the other. A lookup value is a tuple of as many leading
/// parts as wanted (all of them for a hashed key).
template <auto... Parts>
struct key_parts {
    using list = std::tuple<typename detail::part_for<Parts>::type...>;
    template <std::size_t I>
    using part = std::tuple_element_t<I, list>;
    using object = typename part<0>::object;
    /// The whole key as a caller passes it.
    using lookup =
        std::tuple<typename detail::lookup<typename detail::part_for<Parts>::type::value>::type...>;

    static constexpr std::size_t count = sizeof...(Parts);

    /// The value of part I in an object or in a lookup value.
    template <std::size_t I>
    static decltype(auto) get(const object& from) {
        return part<I>::get(from);
    }
    template <std::size_t I, typename... K>
    static const auto& get(const std::tuple<K...>& from) {
        return std::get<I>(from);
    }

    /// Whether `a` comes before `b`; either may be a lookup value, which ends the comparison early.
    template <typename A, typename B>
    static bool less(const A& a, const B& b) {
        return less_from<0, (length<A>() < length<B>() ? length<A>() : length<B>())>(a, b);
    }
    /// Whether all parts are equal.
    template <typename A, typename B>
    static bool equal(const A& a, const B& b) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return ((detail::comparable(get<I>(a)) == detail::comparable(get<I>(b))) && ...);
        }(std::make_index_sequence<count>());
    }
    /// The 32 bits of hash that a hash_table of this seed keeps.
    template <typename A>
    static std::uint32_t hash(const A& a, const hash_seed& seed) {
        keyed_hash h(seed);
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (detail::add_to(h, detail::comparable(get<I>(a))), ...);
        }(std::make_index_sequence<count>());
        return static_cast<std::uint32_t>(h.value() >> 32);
    }
    /// The key as text, for messages.
    template <typename A>
    static std::string text(const A& a) {
        std::string result = "(";
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            ((result.append(I ? ", " : "").append(detail::text_of(detail::comparable(get<I>(a))))),
             ...);
        }(std::make_index_sequence<length<A>()>());
        return result.append(")");
    }
    /// Whether the types of the parts have these values: what is not found anyway needs no search.
    template <typename... K>
    static bool can_hold(const K&... keys) {
        static_assert(sizeof...(K) <= count, "more values than the key has parts");
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return (detail::can_be<std::tuple_element_t<I, lookup>>(keys) && ...);
        }(std::index_sequence_for<K...>());
    }
    /// A lookup value from the caller's arguments, converted to the types of the parts, which must
    /// be able to hold them.
    template <typename... K>
    static auto make_lookup(const K&... keys) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return std::tuple<std::tuple_element_t<I, lookup>...>(
                static_cast<std::tuple_element_t<I, lookup>>(keys)...);
        }(std::index_sequence_for<K...>());
    }

    /// As make_lookup, for a place in the order. Throws usage_error for a value that the part's
    /// type cannot hold, since it has no place.
    template <typename... K>
    static auto make_bound(const K&... keys) {
        if (!can_hold(keys...)) detail::throw_no_bound(text(std::tie(keys...)));
        return make_lookup(keys...);
    }

    /// The order of the parts as a function object, for objects and lookup values alike.
    struct order {
        template <typename A, typename B>
        bool operator()(const A& a, const B& b) const {
            return key_parts::less(a, b);
        }
    };

private:
    template <typename A>
    static constexpr std::size_t length() {
        if constexpr (std::is_same_v<A, object>)
            return count;
        else
            return std::tuple_size_v<A>;
    }
    template <std::size_t I, std::size_t End, typename A, typename B>
    static bool less_from(const A& a, const B& b) {
        if constexpr (I == End) {
            return false;
        } else {
            const auto& of_a = get<I>(a); // named, since a computed part is a temporary
            const auto& of_b = get<I>(b);
            const auto& x = detail::comparable(of_a);
            const auto& y = detail::comparable(of_b);
            constexpr bool turned = part<I>::is_descending;
            if constexpr (I + 1 == End) return turned ? y < x : x < y;
            const auto order = x <=> y;
            if (order != 0) return turned ? order > 0 : order < 0;
            return less_from<I + 1, End>(a, b);
        }
    }
};

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
