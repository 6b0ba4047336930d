#pragma once

#include <chainbase/object.hpp>
#include <chainbase/object/declaration.hpp>
#include <pool_allocator/compact_links.hpp>
#include <pool_allocator/pool_allocator.hpp>

#include <boost/mp11.hpp>
#include <boost/multi_index/ordered_index.hpp>
#include <boost/multi_index/ranked_index.hpp>
#include <boost/multi_index_container.hpp>

#include <cstddef>
#include <type_traits>

namespace chainbase {

namespace detail {

template <typename Key>
using is_in_tree = std::bool_constant<!is_hashed(Key::kind) && !is_btree(Key::kind)>;
template <typename Key>
using is_in_table = std::bool_constant<is_hashed(Key::kind)>;
template <typename Key>
using is_in_btree = std::bool_constant<is_btree(Key::kind)>;
template <typename Key>
using is_in_list = std::bool_constant<Key::kind == key_kind::hashed_non_unique>;

/// Boost.MultiIndex's key extractor: returns the object itself, whose parts the order then
/// compares. A search extracts the key of every node on its way down, so both children are
/// prefetched here: their cache lines arrive while the keys are compared.
template <typename T, typename Layout, std::size_t LinksAt, typename Key>
struct key_of_node {
    using result_type = const T&;

    const T& operator()(const T& value) const noexcept {
        const std::size_t key_at =
            Layout::value_offset +
            offset_of<T>(Key::template parts_of<T>::template part<0>::pointer);
        const auto* node = reinterpret_cast<const std::byte*>(&value) - Layout::value_offset;
        links::prefetch_children<Layout::node_bytes>(node, LinksAt, key_at);
        return value;
    }
};

/// The Boost.MultiIndex specifier of an ordered or ranked key, whose links lie LinksAt in the node.
template <typename Key, typename T, typename Layout, std::size_t LinksAt>
struct index_specifier {
    template <template <typename, typename, typename> class Index>
    using specify = std::type_identity<
        Index<boost::multi_index::tag<typename Key::tag>, key_of_node<T, Layout, LinksAt, Key>,
              typename Key::template order_of<T>>>;
    static auto choose() {
        namespace mi = boost::multi_index;
        if constexpr (Key::kind == key_kind::ordered_unique)
            return specify<mi::ordered_unique>();
        else if constexpr (Key::kind == key_kind::ordered_non_unique)
            return specify<mi::ordered_non_unique>();
        else if constexpr (Key::kind == key_kind::ranked_unique)
            return specify<mi::ranked_unique>();
        else
            return specify<mi::ranked_non_unique>();
    }
    using type = typename decltype(choose())::type;
};

template <typename... TreeKeys>
constexpr std::size_t tree_bytes_of() {
    return ((is_ranked(TreeKeys::kind) ? links::ranked_bytes : links::ordered_bytes) + ... + 0);
}

/// Boost builds the node from the last specifier to the first, so the last key's links come first.
template <typename T, typename Layout, typename... TreeKeys>
struct specifiers;
template <typename T, typename Layout>
struct specifiers<T, Layout> {
    using list = boost::mp11::mp_list<>;
};
template <typename T, typename Layout, typename First, typename... Rest>
struct specifiers<T, Layout, First, Rest...> {
    static constexpr std::size_t links_at = Layout::tree_offset + tree_bytes_of<Rest...>();
    using list =
        boost::mp11::mp_push_front<typename specifiers<T, Layout, Rest...>::list,
                                   typename index_specifier<First, T, Layout, links_at>::type>;
};

/// The container of a type's ordered and ranked keys; nothing for a type without any.
struct no_container {};
template <typename T, typename Keys>
struct container_of {
    template <typename Layout>
    using with = no_container;
};
template <typename T, typename First, typename... Rest>
struct container_of<T, keys<First, Rest...>> {
    template <typename Layout>
    using with = boost::multi_index::multi_index_container<
        T,
        boost::mp11::mp_rename<typename specifiers<T, Layout, First, Rest...>::list,
                               boost::multi_index::indexed_by>,
        pool_allocator<T, Layout>>;
};

} // namespace detail

/// Everything about a type's place in memory that follows from its declaration.
template <typename T>
struct object_layout {
    using key_list = typename T::keys;
    using tree_keys = boost::mp11::mp_filter<detail::is_in_tree, key_list>;
    using table_keys = boost::mp11::mp_filter<detail::is_in_table, key_list>;
    using list_keys = boost::mp11::mp_filter<detail::is_in_list, key_list>;

    static constexpr std::size_t trees = boost::mp11::mp_size<tree_keys>::value;
    static constexpr std::size_t tables = boost::mp11::mp_size<table_keys>::value;
    static constexpr std::size_t btrees =
        boost::mp11::mp_count_if<key_list, detail::is_in_btree>::value;
    static constexpr std::size_t lists = boost::mp11::mp_size<list_keys>::value;
    static constexpr std::size_t buffers = detail::count_places<T>();
    static constexpr std::size_t list_entry_bytes = 8;

    template <typename... TreeKeys>
    static constexpr std::size_t tree_bytes(keys<TreeKeys...>) {
        return detail::tree_bytes_of<TreeKeys...>();
    }
    using node =
        node_layout<sizeof(T), alignof(T), lists * list_entry_bytes, tree_bytes(tree_keys())>;
    static constexpr std::size_t link_bytes = node::link_bytes;

    /// Log bytes that linking or unlinking one node may take. Per tree: a red-black tree of 2^30
    /// nodes is at most 60 deep; at each level a recolouring may touch three words and a rank one,
    /// and at most three rotations follow, of six words each.
    static constexpr std::size_t relink_bytes =
        trees * (60 * 4 + 3 * 8 + 8) * write_barrier::record_bytes(4) +
        lists * 4 * write_barrier::record_bytes(4) + tables * 2 * write_barrier::record_bytes(8);
};

} // namespace chainbase
