#pragma once

// Ordered and ranked Boost.MultiIndex indexes over a pool: 12 bytes of links per object (16 with a
// rank) instead of 24 to 32.
//
// All nodes of a container are slots of one pool, so a link is the signed distance from the node it
// lies in, in units of the node's size, and fits 31 bits: link_words.hpp has the layout. Every
// change goes through the write barrier (logged_word). Outside the nodes everything is a raw
// pointer, so traversal costs what it costs on the heap, and at half the cache lines.
//
// The hooks are partial specialisations of Boost.MultiIndex's node classes for pool_allocator; the
// algorithms stay Boost's. They depend on names in Boost's namespace detail, the same from 1.78 to
// 1.90; what they need is asserted at the end of this file.

#include <pool_allocator/link_words.hpp>
#include <pool_allocator/pool_allocator.hpp>

#ifndef BOOST_MULTI_INDEX_DISABLE_SERIALIZATION
#define BOOST_MULTI_INDEX_DISABLE_SERIALIZATION
#endif

#include <boost/multi_index/detail/index_node_base.hpp>
#include <boost/multi_index/detail/ord_index_node.hpp>
#include <boost/multi_index/ordered_index.hpp>
#include <boost/multi_index/ranked_index.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

namespace chainbase::links {

/// Distances between nodes of one pool, in nodes.
template <typename Node, std::size_t NodeBytes>
struct distance {
    static Node* follow(const Node* from, std::int32_t nodes) noexcept {
        if (nodes == no_node) return nullptr;
        const auto bytes = std::int64_t{nodes} * std::int64_t{NodeBytes};
        return reinterpret_cast<Node*>(reinterpret_cast<std::uintptr_t>(from) +
                                       static_cast<std::uintptr_t>(bytes));
    }
    static std::int32_t measure(const Node* from, const Node* to) noexcept {
        if (!to) return no_node;
        const auto bytes = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) -
                                                     reinterpret_cast<std::uintptr_t>(from));
        return static_cast<std::int32_t>(bytes / std::int64_t{NodeBytes});
    }
};

/// The left or right link of a node; behaves as a reference to a raw pointer.
template <typename Node>
class link_ref {
public:
    using element_type = Node;

    link_ref(Node* node, int word) noexcept : node_(node), word_(word) {}
    link_ref(const link_ref&) = default;

    operator Node*() const noexcept { return node_->target(word_); }
    Node* operator->() const noexcept { return *this; }
    const link_ref& operator=(Node* to) const noexcept {
        node_->set_target(word_, to);
        return *this;
    }
    const link_ref& operator=(const link_ref& other) const noexcept {
        return *this = static_cast<Node*>(other);
    }

private:
    Node* node_;
    int word_;
};

/// The parent link of a node.
template <typename Node>
class parent_ref {
public:
    using element_type = Node;

    explicit parent_ref(Node* node) noexcept : node_(node) {}
    parent_ref(const parent_ref&) = default;

    operator Node*() const noexcept { return node_->parent_target(); }
    Node* operator->() const noexcept { return *this; }
    const parent_ref& operator=(Node* to) const noexcept {
        node_->set_parent_target(to);
        return *this;
    }
    const parent_ref& operator=(const parent_ref& other) const noexcept {
        return *this = static_cast<Node*>(other);
    }

private:
    Node* node_;
};

using color = boost::multi_index::detail::ordered_index_color;

/// The colour of a node.
template <typename Node>
class color_ref {
public:
    explicit color_ref(Node* node) noexcept : node_(node) {}
    color_ref(const color_ref&) = default;

    operator color() const noexcept { return node_->color_value(); }
    const color_ref& operator=(color c) const noexcept {
        node_->set_color_value(c);
        return *this;
    }
    const color_ref& operator=(const color_ref& other) const noexcept {
        return *this = static_cast<color>(other);
    }

private:
    Node* node_;
};

/// The size of a subtree, for ranked indexes: behaves as an unsigned number.
class subtree_size {
public:
    operator std::uint32_t() const noexcept { return word_.load(); }
    subtree_size& operator=(std::uint32_t size) noexcept {
        word_.store(size);
        return *this;
    }
    subtree_size& operator=(const subtree_size& other) noexcept {
        return *this = other.word_.load();
    }
    subtree_size& operator++() noexcept { return *this = word_.load() + 1; }
    subtree_size& operator--() noexcept { return *this = word_.load() - 1; }

private:
    logged_word word_;
};

/// The three link words, with the interface that Boost's tree algorithms expect. `Node` is Boost's
/// ordered_index_node_impl, which derives from this.
template <typename Node, typename Layout>
class compact_node {
    using nodes = distance<Node, Layout::node_bytes>;

public:
    using pointer = Node*;
    using const_pointer = const Node*;
    using difference_type = std::ptrdiff_t;
    using size_type = std::uint32_t;
    using color_ref = links::color_ref<Node>;
    using parent_ref = links::parent_ref<Node>;
    using link_ref = links::link_ref<Node>;

    color_ref color() noexcept { return color_ref(self()); }
    [[nodiscard]] links::color color() const noexcept { return color_value(); }
    parent_ref parent() noexcept { return parent_ref(self()); }
    [[nodiscard]] pointer parent() const noexcept { return parent_target(); }
    link_ref left() noexcept { return link_ref(self(), left_word); }
    [[nodiscard]] pointer left() const noexcept { return target(left_word); }
    link_ref right() noexcept { return link_ref(self(), right_word); }
    [[nodiscard]] pointer right() const noexcept { return target(right_word); }

    [[nodiscard]] pointer target(int word) const noexcept {
        return nodes::follow(self(), static_cast<std::int32_t>(words_[word].load()));
    }
    void set_target(int word, const_pointer to) noexcept {
        words_[word].store(static_cast<std::uint32_t>(nodes::measure(self(), to)));
    }
    [[nodiscard]] pointer parent_target() const noexcept {
        return nodes::follow(self(), static_cast<std::int32_t>(words_[parent_word].load()) >> 1);
    }
    void set_parent_target(const_pointer to) noexcept {
        const auto shifted = static_cast<std::uint32_t>(nodes::measure(self(), to)) << 1;
        words_[parent_word].store(shifted | (words_[parent_word].load() & 1));
    }
    [[nodiscard]] links::color color_value() const noexcept {
        return static_cast<links::color>((words_[parent_word].load() & 1) != 0);
    }
    void set_color_value(links::color c) noexcept {
        words_[parent_word].store((words_[parent_word].load() & ~std::uint32_t{1}) |
                                  static_cast<std::uint32_t>(c));
    }

private:
    static constexpr int parent_word = 0;
    static constexpr int left_word = 1;
    static constexpr int right_word = 2;

    Node* self() noexcept { return static_cast<Node*>(this); }
    const Node* self() const noexcept { return static_cast<const Node*>(this); }

    logged_word words_[3];
};

/// As compact_node, with the size of the subtree.
template <typename Node, typename Layout>
class compact_ranked_node : public compact_node<Node, Layout> {
public:
    subtree_size size;
};

/// The overload that the ranked algorithms find by argument-dependent lookup for a link proxy.
template <typename Node>
std::uint32_t ranked_node_size(const link_ref<Node>& link) noexcept {
    const Node* node = link;
    return node ? static_cast<std::uint32_t>(node->size) : 0;
}

/// Fetches the lines of both children of `node` that a search reads: the links, which lie
/// `links_at` in the node, and the bytes up to `key_end`. Inlined always, as all functions that
/// only prefetch: GCC takes them for functions without effect, and drops calls.
template <std::size_t NodeBytes>
[[gnu::always_inline]] inline void prefetch_children(const std::byte* node, std::size_t links_at,
                                                     std::size_t key_end) noexcept {
    std::int32_t children[2];
    std::memcpy(children, node + links_at + sizeof(logged_word), sizeof children);
    for (const std::int32_t nodes : children) {
        const std::byte* child = distance<const std::byte, NodeBytes>::follow(node, nodes);
        __builtin_prefetch(child ? child + links_at : node);
        __builtin_prefetch(child ? child + key_end : node);
    }
}

/// As above for the links alone, of nodes whose key is near.
template <typename Node>
[[gnu::always_inline]] inline void prefetch_children(const Node* node) noexcept {
    __builtin_prefetch(node->left());
    __builtin_prefetch(node->right());
}

/// Boost's tree algorithms, with the one function replaced that binds `pointer&` to a link.
template <typename Impl>
struct compact_tree : Impl {
    using pointer = typename Impl::pointer;
    using child = typename Impl::link_ref;

    static pointer rebalance_for_extract(pointer node, typename Impl::parent_ref root,
                                         child leftmost, child rightmost) {
        pointer first = leftmost;
        pointer last = rightmost;
        const pointer removed = Impl::rebalance_for_extract(node, root, first, last);
        leftmost = first;
        rightmost = last;
        return removed;
    }

    /// Puts `to`, a node that is in no tree, in the place of `from`. Both keep their content; the
    /// caller moves the value.
    static void replace(pointer from, pointer to, pointer header) {
        const pointer parent = from->parent();
        if (header->parent() == from)
            header->parent() = to;
        else if (parent->left() == from)
            parent->left() = to;
        else
            parent->right() = to;
        if (header->left() == from) header->left() = to;
        if (header->right() == from) header->right() = to;
        const pointer left = from->left();
        const pointer right = from->right();
        if (left) left->parent() = to;
        if (right) right->parent() = to;
        to->color() = from->color();
        to->parent() = parent;
        to->left() = left;
        to->right() = right;
        if constexpr (requires { to->size = from->size; }) to->size = from->size;
    }
};

} // namespace chainbase::links

namespace boost::multi_index::detail {

/// The root of the node hierarchy: the whole node, links before the value.
template <typename Value, typename T, typename Layout>
struct index_node_base<Value, chainbase::pool_allocator<T, Layout>> {
    using base_type = index_node_base;
    using value_type = Value;
    using allocator_type = chainbase::pool_allocator<T, Layout>;
    using layout = Layout;

    /// Where the tree links of the next index up the hierarchy begin.
    static constexpr std::size_t next_tree = Layout::tree_offset;

    value_type& value() noexcept {
        return *std::launder(reinterpret_cast<value_type*>(bytes_ + Layout::value_offset));
    }
    const value_type& value() const noexcept {
        return *std::launder(reinterpret_cast<const value_type*>(bytes_ + Layout::value_offset));
    }
    static index_node_base* from_value(const value_type* value) noexcept {
        return reinterpret_cast<index_node_base*>(
            const_cast<std::byte*>(reinterpret_cast<const std::byte*>(value)) -
            Layout::value_offset);
    }

private:
    static_assert(sizeof(Value) + Layout::value_offset <= Layout::node_bytes);
    alignas(Layout::align) std::byte bytes_[Layout::node_bytes];
};

template <typename AugmentPolicy, typename T, typename Layout>
struct ordered_index_node_impl_base<AugmentPolicy, chainbase::pool_allocator<T, Layout>>
    : chainbase::links::compact_node<
          ordered_index_node_impl<AugmentPolicy, chainbase::pool_allocator<T, Layout>>, Layout> {};

template <typename T, typename Layout>
struct ordered_index_node_impl_base<rank_policy, chainbase::pool_allocator<T, Layout>>
    : chainbase::links::compact_ranked_node<
          ordered_index_node_impl<rank_policy, chainbase::pool_allocator<T, Layout>>, Layout> {};

/// One ordered or ranked index of a node: adds nothing to the node, knows where its links lie.
template <typename AugmentPolicy, typename Super>
    requires chainbase::is_pool_allocator<typename Super::allocator_type>
struct ordered_index_node<AugmentPolicy, Super> : Super {
private:
    using boost_impl = ordered_index_node_impl<
        AugmentPolicy, typename rebind_alloc_for<typename Super::allocator_type, char>::type>;

public:
    using impl_type = chainbase::links::compact_tree<boost_impl>;
    using impl_color_ref = typename boost_impl::color_ref;
    using impl_parent_ref = typename boost_impl::parent_ref;
    using impl_link_ref = typename boost_impl::link_ref;
    using impl_pointer = typename boost_impl::pointer;
    using const_impl_pointer = typename boost_impl::const_pointer;
    using difference_type = std::ptrdiff_t;
    using size_type = typename boost_impl::size_type;

    static constexpr std::size_t links_at = Super::next_tree;
    static constexpr std::size_t next_tree = links_at + sizeof(boost_impl);
    static_assert(next_tree <= Super::layout::value_offset, "the layout counts too few links");

    impl_color_ref color() { return impl()->color(); }
    ordered_index_color color() const { return impl()->color(); }
    impl_parent_ref parent() { return impl()->parent(); }
    impl_pointer parent() const { return impl()->parent(); }
    impl_link_ref left() { return impl()->left(); }
    impl_pointer left() const { return impl()->left(); }
    impl_link_ref right() { return impl()->right(); }
    impl_pointer right() const { return impl()->right(); }

    impl_pointer impl() {
        return reinterpret_cast<impl_pointer>(reinterpret_cast<std::byte*>(this) + links_at);
    }
    const_impl_pointer impl() const {
        return reinterpret_cast<const_impl_pointer>(reinterpret_cast<const std::byte*>(this) +
                                                    links_at);
    }
    static ordered_index_node* from_impl(impl_pointer links) {
        return links ? reinterpret_cast<ordered_index_node*>(reinterpret_cast<std::byte*>(links) -
                                                             links_at)
                     : nullptr;
    }
    static const ordered_index_node* from_impl(const_impl_pointer links) {
        return links ? reinterpret_cast<const ordered_index_node*>(
                           reinterpret_cast<const std::byte*>(links) - links_at)
                     : nullptr;
    }

    static void increment(ordered_index_node*& node) {
        impl_pointer links = node->impl();
        boost_impl::increment(links);
        node = from_impl(links);
    }
    static void decrement(ordered_index_node*& node) {
        impl_pointer links = node->impl();
        boost_impl::decrement(links);
        node = from_impl(links);
    }
};

} // namespace boost::multi_index::detail

namespace chainbase::links {

/// Whether Boost's tree nodes are made as the hooks above need it.
template <typename Augment, std::size_t Bytes>
constexpr bool fits_boost() {
    using layout = node_layout<8, 8, 0, Bytes>;
    using node =
        boost::multi_index::detail::ordered_index_node_impl<Augment, pool_allocator<char, layout>>;
    using pointer = typename node::pointer;
    return std::is_base_of_v<compact_node<node, layout>, node> && sizeof(node) == Bytes &&
           requires(pointer at, typename node::parent_ref root, pointer& end) {
               node::increment(at);
               node::decrement(at);
               node::link(at, boost::multi_index::detail::to_left, at, at);
               { node::rebalance_for_extract(at, root, end, end) } -> std::same_as<pointer>;
           };
}
static_assert(fits_boost<boost::multi_index::detail::null_augment_policy, ordered_bytes>() &&
                  fits_boost<boost::multi_index::detail::rank_policy, ranked_bytes>(),
              "pool_allocator/compact_links.hpp: this version of Boost.MultiIndex builds the nodes "
              "of ordered indexes in another way than those from 1.78 to 1.90: use one of these, "
              "or adapt the specialisations of that file");

} // namespace chainbase::links
