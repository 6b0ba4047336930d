#pragma once

#include <chainbase/state_root/node.hpp>
#include <chainbase/state_root/tree_head.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace chainbase::state_root {

/// Where the nodes of a tree are read: those of a database (node_store), or of a state that is
/// looked at from outside. What the functions below promise of a tree, they promise of any.
class node_source {
public:
    virtual ~node_source() = default;

    [[nodiscard]] virtual const tree_head& head() const = 0;
    /// Requires a reference that the tree has. Throws damaged_error when it leads nowhere.
    [[nodiscard]] virtual node_view view(node_ref node) const = 0;
    /// Throws damaged_error when no type has this number.
    [[nodiscard]] virtual std::string_view type_name(std::uint16_t number) const = 0;

    /// The node at `level`, the root's being 0. Throws damaged_error as view(); and when keys have
    /// no such level, to which only nodes in a circle can lead, and when the node has no children
    /// or more than fit.
    [[nodiscard]] node_view node_at(node_ref node, unsigned level) const;

    [[nodiscard]] std::optional<node_ref> root() const {
        if (head().has_root == 0) return std::nullopt;
        return node_ref(head().root);
    }
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
