#pragma once

#include <chainbase/object.hpp>
#include <chainbase/object/key_bits.hpp>

#include <boost/mp11.hpp>

#include <compare>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>

/// Checks of the declaration of an object type: a mistake gives one compiler error that names the
/// type and the member or key. Each check is a function template of its own, since compilers print
/// the template arguments of a failed assertion; code that would fail as a consequence is not
/// compiled.
namespace chainbase::detail {

template <typename T, auto Member>
constexpr bool check_member() {
    using M = typename member_of<std::remove_const_t<decltype(Member)>>::value;
    constexpr bool good = is_shareable<M>();
    static_assert(
        good, "this member of an object type cannot lie in shared memory: it is to be trivially "
              "copyable and no pointer or view; a fixed_string or shared_string in place of a "
              "std::string; a shared_vector in place of a std::vector; or a struct of these, "
              "all of whose members are described (BOOST_DESCRIBE_STRUCT)");
    return good;
}

/// Whether a hashed or ordered key can have a part of V.
template <typename V, bool IsHashed>
constexpr bool can_be_part() {
    if constexpr (IsHashed)
        return is_hashable<V>();
    else
        return std::three_way_comparable<V> || requires(const V& v) {
            { v < v } -> std::convertible_to<bool>;
        };
}

template <typename T, typename Tag, auto Part, bool IsHashed, bool HasOwnOrder = false>
struct part_check {
    static constexpr bool run() {
        using kind = std::remove_const_t<decltype(Part)>;
        if constexpr (is_part<kind>()) {
            using value =
                std::remove_cvref_t<decltype(value_of_part<T, Part>(std::declval<const T&>()))>;
            constexpr bool good = can_be_part<value, IsHashed>();
            static_assert(!HasOwnOrder || !IsHashed,
                          "a hashed key has no order: compared_by is for ordered ones");
            static_assert(good || HasOwnOrder || IsHashed,
                          "a part of an ordered key is of a type that has no operator<; give it "
                          "one, or use chainbase::compared_by<&type::member, comparator>");
            static_assert(good || HasOwnOrder || !IsHashed,
                          "a part of a hashed key is of a type that has no hash: describe its "
                          "members (BOOST_DESCRIBE_STRUCT), or declare "
                          "void hash_append(chainbase::keyed_hash&, const type&) in its namespace");
            return HasOwnOrder ? !IsHashed : good;
        } else {
            return false;
        }
    }

private:
    template <typename Kind>
    static constexpr bool is_part() {
        constexpr bool is_own = is_own_member<Kind>();
        static_assert(is_own, "a part of this key is a member of another type");
        if constexpr (is_own) {
            constexpr bool good = std::is_invocable_v<Kind, const T&>;
            static_assert(good, "a part of this key is neither a pointer to a member or to a const "
                                "member function of the object, nor a function or captureless "
                                "lambda that takes a const reference to it");
            return good;
        }
        return false;
    }
    template <typename Kind>
    static constexpr bool is_own_member() {
        if constexpr (std::is_member_pointer_v<Kind>)
            return std::is_base_of_v<typename member_of<Kind>::object, T>;
        return true;
    }
};
template <typename T, typename Tag, auto Part, bool IsHashed, bool HasOwnOrder>
    requires requires { std::remove_const_t<decltype(Part)>::inner; }
struct part_check<T, Tag, Part, IsHashed, HasOwnOrder> {
    using marked = std::remove_const_t<decltype(Part)>;

    static constexpr bool run() {
        constexpr bool is_own = HasOwnOrder || marked::has_own_order;
        constexpr bool good = part_check<T, Tag, marked::inner, IsHashed, is_own>::run();
        if constexpr (good && requires { typename marked::comparator; }) {
            using value = typename part_for<T, marked::inner>::type::value;
            using compared = decltype(comparable(std::declval<const value&>()));
            constexpr bool compares =
                std::is_invocable_r_v<bool, typename marked::comparator, compared, compared>;
            static_assert(compares, "a comparator is called with two values of the part, a text as "
                                    "a std::string_view, and returns a bool");
            return compares;
        }
        return good;
    }
};

/// The length of a btree key of T: that of its parts, and of the id behind them that keeps equal
/// ones apart; with a text, or above what nodes can hold, any length.
template <typename T, typename Key>
inline constexpr std::size_t btree_bits = [] {
    using parts = typename Key::template parts_of<T>;
    return []<std::size_t... I>(std::index_sequence<I...>) {
        const std::size_t bits = 8 * (sizeof(typename parts::template part<I>::value) + ...) +
                                 (is_unique(Key::kind) ? 0 : 32);
        const bool has_text = (is_shared_text<typename parts::template part<I>::value> || ...);
        return has_text || bits > btree::max_bits ? btree::any_length : bits;
    }(std::make_index_sequence<parts::count>());
}();

/// Whether Part, a good part of an ordered key, is a member whose values are written as bits.
template <typename T, auto Part>
constexpr bool is_btree_part() {
    using part = typename part_for<T, Part>::type;
    if constexpr (part::has_own_order ||
                  !std::is_member_object_pointer_v<std::remove_const_t<decltype(part::pointer)>>)
        return false;
    else
        return has_bits<typename part::value>();
}

template <typename T, typename Key>
struct key_check;
template <typename T, key_kind Kind, typename Tag, auto... Parts>
struct key_check<T, key<Kind, Tag, Parts...>> {
    static constexpr bool run() {
        if constexpr (!(part_check<T, Tag, Parts, is_hashed(Kind)>::run() && ...)) {
            return false;
        } else if constexpr (is_btree(Kind)) {
            constexpr bool good = (is_btree_part<T, Parts>() && ...);
            static_assert(good, "the parts of a btree key are members that are integers, bool, "
                                "enums, ids, shared_string, fixed_string, fixed_bytes or arrays "
                                "of the latter; for another part declare the key ordered_unique or "
                                "ordered_non_unique");
            return good;
        } else {
            return true;
        }
    }
};

template <typename Key>
using tag_of = typename Key::tag;

template <typename T>
constexpr bool has_id_first() {
    if constexpr (boost::mp11::mp_empty<members_of<T>>::value)
        return false;
    else
        return std::is_same_v<member_type<boost::mp11::mp_first<members_of<T>>>, id<T>>;
}

/// Whether T is an object type; if not, one compiler error says what is wrong.
template <typename T>
constexpr bool check_declaration() {
    if constexpr (!is_described<T>) {
        static_assert(is_described<T>,
                      "an object type is described after its declaration, in its own namespace: "
                      "BOOST_DESCRIBE_STRUCT(type, (), (id, and, all, other, members))");
        return false;
    } else if constexpr (!has_id_first<T>()) {
        static_assert(has_id_first<T>(),
                      "the first member of an object type, and the first that is described, is "
                      "`chainbase::id<type> id`");
        return false;
    } else if constexpr (!requires { typename T::keys; }) {
        static_assert(
            requires { typename T::keys; }, "an object type has a member type `keys`; without any: "
                                            "using keys = chainbase::keys<>");
        return false;
    } else if constexpr (!std::is_default_constructible_v<T>) {
        static_assert(std::is_default_constructible_v<T>,
                      "an object type has a default constructor: create() fills in the rest");
        return false;
    } else {
        bool good = true;
        boost::mp11::mp_for_each<members_of<T>>(
            [&](auto member) { good = check_member<T, decltype(member)::pointer>() && good; });
        constexpr bool is_whole = is_described_whole<T>();
        static_assert(is_whole,
                      "not all members of this object type are described, in the order of "
                      "their declaration; or one has an alignment of its own");
        using tags = boost::mp11::mp_transform<tag_of, typename T::keys>;
        constexpr bool has_own_tags = boost::mp11::mp_is_set<tags>::value;
        static_assert(has_own_tags, "two keys of this object type have the same tag");
        boost::mp11::mp_for_each<boost::mp11::mp_transform<std::type_identity, typename T::keys>>(
            [&](auto k) { good = key_check<T, typename decltype(k)::type>::run() && good; });
        return good && is_whole && has_own_tags;
    }
}

template <typename T>
inline constexpr bool is_declared = check_declaration<T>();

/// Whether T has a key called Tag; if not, one compiler error says so.
template <typename T, typename Tag>
constexpr bool check_key() {
    if constexpr (is_declared<T>) {
        constexpr bool good = key_position<T, Tag> < T::keys::count;
        static_assert(good, "this object type has no key with this tag");
        return good;
    } else {
        return false;
    }
}

template <typename T, typename Tag>
inline constexpr bool has_key = check_key<T, Tag>();

/// Whether T has a unique key called Tag, and a Key has all of its parts; if not, one compiler
/// error says so.
template <typename T, typename Tag, typename Key>
constexpr bool is_unique_key() {
    if constexpr (has_key<T, Tag>) {
        using parts = typename key_called<T, Tag>::template parts_of<T>;
        constexpr bool good = is_unique(key_called<T, Tag>::kind);
        static_assert(good, "get_or_create takes a unique key: of another one there may be several "
                            "objects");
        constexpr bool is_whole = parts::template given<Key> == parts::count;
        static_assert(is_whole,
                      "get_or_create takes all parts of a key: one value, or a std::tuple");
        return good && is_whole;
    } else {
        return false;
    }
}

/// Replaces the view of a key that does not exist, so that calls on it cause no further errors.
template <typename T>
struct no_view {
    using iterator = const T*;
    template <typename... V>
    const T* find(const V&...) const {
        return nullptr;
    }
    template <typename... V>
    bool contains(const V&...) const {
        return false;
    }
    template <typename... V>
    std::size_t count(const V&...) const {
        return 0;
    }
    template <typename... V>
    const T* lower_bound(const V&...) const {
        return nullptr;
    }
    template <typename... V>
    const T* upper_bound(const V&...) const {
        return nullptr;
    }
    template <typename... V>
    no_view equal_range(const V&...) const {
        return {};
    }
    template <typename Keys>
    void find_many(const Keys&, std::span<const T*>) const {}
    template <typename View, typename At>
    const T* project(const View&, At) const {
        return nullptr;
    }
    const T* nth(std::size_t) const { return nullptr; }
    std::size_t rank(const T*) const { return 0; }
    const T* iterator_to(const T& object) const { return &object; }
    const T* begin() const { return nullptr; }
    const T* end() const { return nullptr; }
    auto rbegin() const { return std::make_reverse_iterator(end()); }
    auto rend() const { return std::make_reverse_iterator(begin()); }
    std::size_t size() const { return 0; }
    bool empty() const { return true; }
};

} // namespace chainbase::detail
