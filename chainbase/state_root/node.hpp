#pragma once

#include <chainbase/id.hpp>
#include <chainbase/keys.hpp>
#include <chainbase/state_root/sha256.hpp>

#include <boost/describe.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace chainbase::state_root {

inline constexpr unsigned branches_per_node = 16;

/// The groups of a node that hashes by groups (tree_hash.hpp).
inline constexpr unsigned groups_per_node = 4;

/// How many children the arrays of nodes hold. A node has the smallest that its children fit; with
/// random keys most nodes have two or three children, and those above them nine or all
/// (tools/bench/figures.md, Root shows how these were chosen).
inline constexpr std::array<std::uint8_t, 8> capacities{2, 3, 5, 7, 8, 9, 11, 16};

/// How many bits are set. Without std::popcount, which is a function call where the compiler does
/// not know that the processor can count.
[[nodiscard]] constexpr unsigned count_of(std::uint16_t branches) noexcept {
    unsigned bits = branches;
    bits -= bits >> 1 & 0x5555u;
    bits = (bits & 0x3333u) + (bits >> 2 & 0x3333u);
    bits = (bits + (bits >> 4)) & 0x0f0fu;
    return (bits + (bits >> 8)) & 0x1fu;
}
static_assert(count_of(0) == 0 && count_of(0x8001) == 2 && count_of(0xffff) == 16);

/// The index in `capacities` of the smallest one that holds `children` children. Requires 1 to 16.
[[nodiscard]] constexpr unsigned capacity_class_of(unsigned children) noexcept {
    unsigned number = 0;
    while (capacities[number] < children)
        ++number;
    return number;
}

/// Refers to a node: bits 0 to 2 say which of the capacities it has, the others are its id among
/// the nodes of that capacity.
class node_ref {
public:
    static constexpr unsigned class_bits = 3;
    static constexpr std::uint32_t max_nodes = std::uint32_t{1} << (32 - class_bits);
    static_assert(capacities.size() == 1u << class_bits);

    constexpr node_ref() = default;
    constexpr explicit node_ref(std::uint32_t bits) noexcept : bits_(bits) {}
    /// Requires number < max_nodes.
    static constexpr node_ref make(std::uint32_t number, unsigned capacity_class) noexcept {
        return node_ref(number << class_bits | capacity_class);
    }

    [[nodiscard]] constexpr std::uint32_t number() const noexcept { return bits_ >> class_bits; }
    [[nodiscard]] constexpr unsigned capacity_class() const noexcept {
        return bits_ & ((1u << class_bits) - 1);
    }
    [[nodiscard]] constexpr unsigned capacity() const noexcept {
        return capacities[capacity_class()];
    }
    [[nodiscard]] constexpr std::uint32_t bits() const noexcept { return bits_; }

    friend constexpr bool operator==(node_ref, node_ref) = default;

private:
    std::uint32_t bits_ = 0;
};

/// An inner node, as an object of the state. Its children are in the order of their digits, in the
/// first places of the arrays; the places behind them have no meaning.
///
///     0  id          4
///     4  branches    2       bit i: there is a child at digit i
///     6  leaves      2       bit i: and it is a leaf
///     8  digests     32 each
///        references  4 each  of a leaf the object's id, of a node its node_ref
///        types       2 each  of a leaf the number of the object's type (named_type)
///        groups      32 each of the largest capacity only: tree_hash::group of each four digits,
///                            which is kept because most changes are below one of them
///
/// A free node (not in the tree, but kept for reuse) has no branches; references[0] is the id + 1
/// of the next free node, 0 in the last one.
template <unsigned Capacity>
struct node {
    chainbase::id<node> id;
    std::uint16_t branches = 0;
    std::uint16_t leaves = 0;
    std::array<sha256_digest, Capacity> digests{};
    std::array<std::uint32_t, Capacity> references{};
    std::array<std::uint16_t, Capacity> types{};

    using keys = chainbase::keys<>;
    BOOST_DESCRIBE_CLASS(node, (), (id, branches, leaves, digests, references, types), (), ())
};

template <>
struct node<branches_per_node> {
    chainbase::id<node> id;
    std::uint16_t branches = 0;
    std::uint16_t leaves = 0;
    std::array<sha256_digest, branches_per_node> digests{};
    std::array<std::uint32_t, branches_per_node> references{};
    std::array<std::uint16_t, branches_per_node> types{};
    std::array<sha256_digest, groups_per_node> groups{};

    using keys = chainbase::keys<>;
    BOOST_DESCRIBE_CLASS(node, (), (id, branches, leaves, digests, references, types, groups), (),
                         ())
};

/// One child of a node.
struct child {
    sha256_digest digest;
    std::uint32_t reference = 0; ///< of a leaf the object's id, of a node its node_ref
    std::uint16_t type = 0;      ///< of a leaf the number of the object's type
    bool is_leaf = false;
};

/// A node of any capacity, read in place: valid until the node is changed.
class node_view {
public:
    /// `place` is where a node<capacity> lies.
    node_view(const std::byte* place, unsigned capacity) noexcept
        : place_(place), capacity_(capacity) {}

    [[nodiscard]] std::uint16_t branches() const noexcept { return at<std::uint16_t>(branches_at); }
    [[nodiscard]] std::uint16_t leaves() const noexcept { return at<std::uint16_t>(leaves_at); }
    [[nodiscard]] unsigned size() const noexcept { return count_of(branches()); }
    [[nodiscard]] bool has(unsigned digit) const noexcept { return branches() >> digit & 1; }
    [[nodiscard]] bool is_leaf(unsigned digit) const noexcept { return leaves() >> digit & 1; }
    /// Whether a tree can have such a node: it has children, not more than fit, and its leaves are
    /// among them.
    [[nodiscard]] bool is_possible() const noexcept {
        const unsigned all = branches();
        return all != 0 && (leaves() & ~all) == 0 && size() <= capacity_;
    }
    /// Where in the arrays the child at `digit` is, or would be.
    [[nodiscard]] unsigned place_of(unsigned digit) const noexcept {
        return count_of(static_cast<std::uint16_t>(branches() & ((1u << digit) - 1)));
    }
    /// Of the child in a place of the arrays.
    [[nodiscard]] const sha256_digest& digest(unsigned place) const noexcept {
        return at<sha256_digest>(digests_at + sizeof(sha256_digest) * place);
    }
    [[nodiscard]] std::uint32_t reference(unsigned place) const noexcept {
        return at<std::uint32_t>(references_at(capacity_) + 4 * std::size_t{place});
    }
    [[nodiscard]] std::uint16_t type(unsigned place) const noexcept {
        return at<std::uint16_t>(types_at(capacity_) + 2 * std::size_t{place});
    }
    /// Of the digits from 4 * number on. Requires that there is a child at one of them, and
    /// keeps_groups().
    [[nodiscard]] const sha256_digest& group(unsigned number) const noexcept {
        return at<sha256_digest>(groups_at(capacity_) + sizeof(sha256_digest) * number);
    }
    [[nodiscard]] bool keeps_groups() const noexcept { return capacity_ == branches_per_node; }
    /// The child at `digit`. Requires that there is one.
    [[nodiscard]] child at_digit(unsigned digit) const noexcept {
        const unsigned place = place_of(digit);
        return {this->digest(place), reference(place), type(place), is_leaf(digit)};
    }
    /// All of it, as it lies.
    [[nodiscard]] std::span<const std::byte> all() const noexcept {
        return {place_, bytes(capacity_)};
    }
    /// Prefetches it, so that memory latencies of several nodes overlap.
    [[gnu::always_inline]] void prefetch() const noexcept {
        for (std::size_t line = 0; line < bytes(capacity_); line += 64)
            __builtin_prefetch(place_ + line);
    }

    static constexpr std::size_t branches_at = 4;
    static constexpr std::size_t leaves_at = 6;
    static constexpr std::size_t digests_at = 8;
    [[nodiscard]] static constexpr std::size_t references_at(unsigned capacity) noexcept {
        return digests_at + sizeof(sha256_digest) * capacity;
    }
    [[nodiscard]] static constexpr std::size_t types_at(unsigned capacity) noexcept {
        return references_at(capacity) + 4 * std::size_t{capacity};
    }
    [[nodiscard]] static constexpr std::size_t groups_at(unsigned capacity) noexcept {
        return (types_at(capacity) + 2 * std::size_t{capacity} + 3) / 4 * 4;
    }
    [[nodiscard]] static constexpr std::size_t bytes(unsigned capacity) noexcept {
        const bool keeps_groups = capacity == branches_per_node;
        return groups_at(capacity) + (keeps_groups ? sizeof(sha256_digest) * groups_per_node : 0);
    }

private:
    template <typename T>
    [[nodiscard]] const T& at(std::size_t offset) const noexcept {
        return *reinterpret_cast<const T*>(place_ + offset);
    }

    const std::byte* place_;
    unsigned capacity_;
};

/// Whether node_view reads a node where its members are.
template <unsigned Capacity>
consteval bool is_read_in_place() {
    using one = node<Capacity>;
    return std::is_standard_layout_v<one> && offsetof(one, id) == 0 &&
           offsetof(one, branches) == node_view::branches_at &&
           offsetof(one, leaves) == node_view::leaves_at &&
           offsetof(one, digests) == node_view::digests_at &&
           offsetof(one, references) == node_view::references_at(Capacity) &&
           offsetof(one, types) == node_view::types_at(Capacity) &&
           sizeof(one) == node_view::bytes(Capacity);
}
static_assert([]<std::size_t... Class>(std::index_sequence<Class...>) {
    return (is_read_in_place<capacities[Class]>() && ...);
}(std::make_index_sequence<capacities.size()>()));
static_assert(offsetof(node<branches_per_node>, groups) == node_view::groups_at(branches_per_node));

} // namespace chainbase::state_root
