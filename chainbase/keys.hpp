#pragma once

#include <chainbase/key_value.hpp>
#include <pool_allocator/keyed_hash.hpp>

#include <boost/mp11.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace chainbase {

/// Marks a part of an ordered key as descending.
template <auto Part>
struct descending_part {
    static constexpr auto inner = Part;
    static constexpr bool has_own_order = false;
};
template <auto Part>
inline constexpr descending_part<Part> descending{};

/// Orders a part of an ordered key by `Compare`, a type of function objects that take two values of
/// the part and tell whether the first comes before the second: a strict weak order that depends on
/// nothing but the values. Values of which neither comes first are one value to a unique key. Tools
/// that have only the catalogue can walk such a key, but not search it.
template <auto Part, typename Compare>
struct compared_part {
    using comparator = Compare;
    static constexpr auto inner = Part;
    static constexpr bool has_own_order = true;
};
template <auto Part, typename Compare>
inline constexpr compared_part<Part, Compare> compared_by{};

namespace detail {

/// Where a member lies in its object; 0 for a computed part.
template <typename T, typename Part>
std::size_t offset_of(Part part) noexcept {
    if constexpr (std::is_member_object_pointer_v<Part>) {
        alignas(T) static std::byte storage[sizeof(T)];
        const T& object = reinterpret_cast<const T&>(storage);
        return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&(object.*part)) -
                                        storage);
    } else {
        return 0;
    }
}

/// The value of a part: a member, or the result of a const member function, a function or a
/// captureless lambda.
template <typename T, auto Part>
decltype(auto) value_of_part(const T& object) {
    using kind = std::remove_const_t<decltype(Part)>;
    if constexpr (std::is_member_object_pointer_v<kind>)
        return (object.*Part); // a reference
    else if constexpr (std::is_member_function_pointer_v<kind>)
        return (object.*Part)();
    else
        return Part(object);
}

template <typename T, auto Part>
concept part_of = requires(const T& object) { value_of_part<T, Part>(object); };

template <typename T, auto Part>
struct part {
    using object = T;
    using value = std::remove_cvref_t<decltype(value_of_part<T, Part>(std::declval<const T&>()))>;
    using lookup = typename detail::lookup<value>::type;
    static constexpr auto pointer = Part;
    static constexpr bool is_descending = false;
    static constexpr bool has_own_order = false;

    static decltype(auto) get(const T& from) { return value_of_part<T, Part>(from); }
    template <typename V>
    static bool less(const V& a, const V& b) {
        return less_value(a, b);
    }
    template <typename V>
    static bool equal(const V& a, const V& b) {
        return equal_values(a, b);
    }
    template <typename V>
    static int order(const V& a, const V& b) {
        return order_of_values(a, b);
    }
};
template <typename T, auto Part>
struct part_for {
    using type = part<T, Part>;
};
template <typename Inner>
struct turned : Inner {
    static constexpr bool is_descending = !Inner::is_descending;
};
template <typename Inner, typename Compare>
struct compared : Inner {
    static_assert(std::is_empty_v<Compare> && std::is_default_constructible_v<Compare>,
                  "a comparator has no state, since it must be the same in every process");
    static constexpr bool has_own_order = true;

    template <typename V>
    static bool less(const V& a, const V& b) {
        return Compare()(a, b);
    }
    template <typename V>
    static bool equal(const V& a, const V& b) {
        return !less(a, b) && !less(b, a);
    }
    template <typename V>
    static int order(const V& a, const V& b) {
        return less(a, b) ? -1 : less(b, a) ? 1 : 0;
    }
};
template <typename T, typename Marked>
struct unwrap;
template <typename T, auto Inner>
struct unwrap<T, descending_part<Inner>> {
    using type = turned<typename part_for<T, Inner>::type>;
};
template <typename T, auto Inner, typename Compare>
struct unwrap<T, compared_part<Inner, Compare>> {
    using type = compared<typename part_for<T, Inner>::type, Compare>;
};
template <typename T, auto Part>
    requires requires { typename unwrap<T, std::remove_const_t<decltype(Part)>>::type; }
struct part_for<T, Part> {
    using type = typename unwrap<T, std::remove_const_t<decltype(Part)>>::type;
};

/// The caller's values as a tuple; they may already be one tuple.
template <typename... V>
auto as_tuple(const V&... values) {
    return std::tie(values...);
}
template <typename... V>
const std::tuple<V...>& as_tuple(const std::tuple<V...>& values) {
    return values;
}

/// A value that a caller passes for a part, as the part's type To; if it is none, one compiler
/// error says so.
template <typename T, auto Part, typename To, typename From>
To converted(const From& value) {
    constexpr bool good = requires { static_cast<To>(value); };
    static_assert(good, "this value is none of the part of the key that it is looked up by");
    if constexpr (good)
        return static_cast<To>(value);
    else
        std::abort(); // the compiler has refused it
}

/// Throws usage_error: a bound that no key can have.
[[noreturn]] void throw_no_bound(const std::string& bound);

} // namespace detail

/// The parts of a key of T, compared one after the other. A lookup value is a tuple of as many
/// leading parts as wanted (all of them for a hashed key).
template <typename T, auto... Parts>
struct key_parts {
    using list = std::tuple<typename detail::part_for<T, Parts>::type...>;
    template <std::size_t I>
    using part = std::tuple_element_t<I, list>;
    using object = T;
    /// The whole key as a caller passes it.
    using lookup = std::tuple<typename detail::part_for<T, Parts>::type::lookup...>;

    static constexpr std::size_t count = sizeof...(Parts);
    /// Whether its order is defined only in the program (compared_by).
    static constexpr bool has_own_order = (detail::part_for<T, Parts>::type::has_own_order || ...);

    /// The value of part I in an object or in a lookup value.
    template <std::size_t I>
    static decltype(auto) get(const T& from) {
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
            return (part<I>::equal(detail::comparable(get<I>(a)), detail::comparable(get<I>(b))) &&
                    ...);
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

    /// @name Lookup values
    /// From the caller's values, one for each part or all in a std::tuple, whose types may be
    /// others than those of the parts.
    /// @{

    /// How many values were given; at most the key's number of parts.
    template <typename... V>
    static constexpr std::size_t given = [] {
        constexpr std::size_t all = std::tuple_size_v<
            std::remove_cvref_t<decltype(detail::as_tuple(std::declval<const V&>()...))>>;
        static_assert(all <= count, "more values than the key has parts");
        return all < count ? all : count;
    }();

    /// Whether the types of the parts can hold these values; if not, a lookup needs no search.
    template <typename... V>
    static bool can_hold(const V&... values) {
        return [&]<std::size_t... I>(const auto& all, std::index_sequence<I...>) {
            return (detail::can_be<std::tuple_element_t<I, lookup>>(std::get<I>(all)) && ...);
        }(detail::as_tuple(values...), std::make_index_sequence<given<V...>>());
    }
    /// Converted to the types of the parts, which must be able to hold them.
    template <typename... V>
    static auto make_lookup(const V&... values) {
        return [&]<std::size_t... I>(const auto& all, std::index_sequence<I...>) {
            return std::tuple<std::tuple_element_t<I, lookup>...>(
                detail::converted<T, part<I>::pointer, std::tuple_element_t<I, lookup>>(
                    std::get<I>(all))...);
        }(detail::as_tuple(values...), std::make_index_sequence<given<V...>>());
    }
    /// These values as text, for messages: as the parts' types where these can hold them.
    template <typename... V>
    static std::string text_of_lookup(const V&... values) {
        return can_hold(values...) ? text(make_lookup(values...))
                                   : text(detail::as_tuple(values...));
    }
    /// As make_lookup, for a place in the order. Throws usage_error for a value that the part's
    /// type cannot hold.
    template <typename... V>
    static auto make_bound(const V&... values) {
        if (!can_hold(values...)) detail::throw_no_bound(text(detail::as_tuple(values...)));
        return make_lookup(values...);
    }
    /// @}

    /// The order of the parts as a function object, for objects and lookup values alike.
    struct order {
        template <typename A, typename B>
        bool operator()(const A& a, const B& b) const {
            return key_parts::less(a, b);
        }
    };
    /// The same, with objects of equal keys in the order of their ids.
    struct order_then_id : order {
        using order::operator();
        bool operator()(const T& a, const T& b) const { return less_from<0, count, true>(a, b); }
    };

private:
    template <typename A>
    static constexpr std::size_t length() {
        if constexpr (std::is_same_v<A, T>)
            return count;
        else
            return std::tuple_size_v<A>;
    }
    template <std::size_t I, std::size_t End, bool ThenId = false, typename A, typename B>
    static bool less_from(const A& a, const B& b) {
        if constexpr (I == End) {
            if constexpr (ThenId) return a.id.value < b.id.value;
            return false;
        } else {
            const auto& of_a = get<I>(a); // named, since a computed part is a temporary
            const auto& of_b = get<I>(b);
            const auto& x = detail::comparable(of_a);
            const auto& y = detail::comparable(of_b);
            constexpr bool turned = part<I>::is_descending;
            if constexpr (I + 1 == End && !ThenId)
                return turned ? part<I>::less(y, x) : part<I>::less(x, y);
            const int order = part<I>::order(x, y);
            if (order != 0) return turned ? order > 0 : order < 0;
            return less_from<I + 1, End, ThenId>(a, b);
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
    hashed_non_unique,
    btree_unique,
    btree_non_unique
};

[[nodiscard]] constexpr bool is_hashed(key_kind kind) noexcept {
    return kind == key_kind::hashed_unique || kind == key_kind::hashed_non_unique;
}
[[nodiscard]] constexpr bool is_ranked(key_kind kind) noexcept {
    return kind == key_kind::ranked_unique || kind == key_kind::ranked_non_unique;
}
[[nodiscard]] constexpr bool is_btree(key_kind kind) noexcept {
    return kind == key_kind::btree_unique || kind == key_kind::btree_non_unique;
}
[[nodiscard]] constexpr bool is_unique(key_kind kind) noexcept {
    return kind == key_kind::ordered_unique || kind == key_kind::ranked_unique ||
           kind == key_kind::hashed_unique || kind == key_kind::btree_unique;
}
[[nodiscard]] constexpr std::string_view name_of(key_kind kind) noexcept {
    constexpr std::string_view names[] = {
        "ordered_unique", "ordered_non_unique", "ranked_unique", "ranked_non_unique",
        "hashed_unique",  "hashed_non_unique",  "btree_unique",  "btree_non_unique"};
    return names[static_cast<std::size_t>(kind)];
}

/// One key of a type. `Tag` names it in calls (`find<account, by_name>(...)`); the parts are
/// pointers to members or to const member functions, functions, or captureless lambdas, which take
/// a const reference to the object; each ascending unless wrapped in `descending<...>`. A type in a
/// header that several sources include takes a named function in place of a lambda, which would be
/// another type in each of them.
///
///     ordered_unique<by_balance, descending<&account::balance>, &account::id>
///     ordered_unique<by_name, compared_by<&account::name, without_case>>
///     ordered_non_unique<by_worth, [](const auto& a) { return a.balance + a.savings; }>
///
/// A btree key has the order of the ordered key with the same parts, and is looked up and walked
/// like it, in less than half the time. Its parts are members that are integers, bool, enums, ids,
/// texts, fixed_bytes or arrays of fixed_string and the others. With a shared_string, or above 64
/// bytes in all (60 if it is not unique), only walks are faster.
template <key_kind Kind, typename Tag, auto... Parts>
struct key {
    static_assert(sizeof...(Parts) > 0, "a key has at least one part");
    static constexpr key_kind kind = Kind;
    using tag = Tag;
    template <typename T>
    using parts_of = key_parts<T, Parts...>;
    /// The order of the objects of an ordered or ranked key. It is part of every state's content.
    template <typename T>
    using order_of = std::conditional_t<is_unique(Kind), typename parts_of<T>::order,
                                        typename parts_of<T>::order_then_id>;
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
template <typename Tag, auto... Parts>
using btree_unique = key<key_kind::btree_unique, Tag, Parts...>;
template <typename Tag, auto... Parts>
using btree_non_unique = key<key_kind::btree_non_unique, Tag, Parts...>;

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
