#pragma once

#include <chainbase/state_root/node.hpp>
#include <chainbase/state_root/tree_hash.hpp>
#include <chainbase/state_root/tree_head.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace chainbase::state_root {

/// Where the nodes of a tree are read: those of a database (node_store), or of a state that is
/// looked at from outside. What the functions below promise of a tree, they promise of any.
class node_source {
public:
    virtual ~node_source() = default;

    [[nodiscard]] virtual const tree_head& head() const = 0;
    /// A node of the tree, or a free one: which of them it is, the caller has to see to. Valid
    /// at least until the next call. Throws damaged_error when there is none.
    [[nodiscard]] virtual node_view view(node_ref node) const = 0;
    /// Throws damaged_error when no type has this number.
    [[nodiscard]] virtual std::string_view type_name(std::uint16_t number) const = 0;

    /// What the tree is called in what damaged() says.
    [[nodiscard]] virtual std::string name() const = 0;

    [[nodiscard]] std::optional<node_ref> root() const {
        if (head().has_root == 0) return std::nullopt;
        return node_ref(head().root);
    }
    /// The node of `level` to which the tree's root, or another node, leads. Throws damaged_error
    /// when there is none, when it cannot be one of a tree, and beyond the last level: so whatever
    /// goes down from the root comes to an end.
    [[nodiscard]] node_view node_at(node_ref node, unsigned level) const {
        const node_view found = view(node);
        if (level >= max_levels || !found.is_possible()) throw_impossible(node, level);
        return found;
    }
    /// Throws damaged_error: the tree is not sound, as `what` says.
    [[noreturn]] void damaged(const std::string& what) const;

private:
    [[noreturn]] void throw_impossible(node_ref node, unsigned level) const;
};

/// How many nodes a walk over a tree came to. In a tree none is below two others, but in a damaged
/// one it may be, and then the ways to it double from level to level.
class walked_nodes {
public:
    explicit walked_nodes(const node_source& tree) noexcept : tree_(tree) {}
    /// Before each node. Throws damaged_error when there are more than the leaves of a tree have
    /// above them.
    void count() {
        if (++count_ / max_levels > tree_.head().leaves) throw_too_many();
    }

private:
    [[noreturn]] void throw_too_many() const;

    const node_source& tree_;
    std::uint64_t count_ = 0;
};

/// The leaf of a key, if the tree has one. Throws damaged_error.
[[nodiscard]] std::optional<child> find_leaf(const node_source& tree, const sha256_digest& key);

/// How the nodes of a tree look.
struct tree_shape {
    /// Nodes that have so many children; [0] is of no meaning.
    std::array<std::uint64_t, branches_per_node + 1> nodes_by_children{};
    /// Nodes by the capacity of their arrays, as `capacities`; and those that are free.
    std::array<std::uint64_t, capacities.size()> nodes_by_capacity{};
    std::array<std::uint64_t, capacities.size()> free_by_capacity{};
    std::uint64_t leaves = 0;
    unsigned levels = 0; ///< on the longest way from the root to a leaf

    /// Visits all nodes. Throws damaged_error.
    [[nodiscard]] static tree_shape of(const node_source& tree);
};

} // namespace chainbase::state_root
