#pragma once

#include <chainbase/state_root/node_store.hpp>
#include <chainbase/state_root/tree_hash.hpp>

#include <boost/container/static_vector.hpp>

#include <array>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

namespace chainbase::state_root {

/// The change of one object.
struct leaf_change {
    sha256_digest key;  ///< tree_hash::key
    sha256_digest leaf; ///< tree_hash::leaf; meaningless for a removed object
    std::uint32_t id = 0;
    std::uint16_t type = 0; ///< node_store::type_numbers
    bool exists = true;
};

struct node_draft;

/// The new version of a child.
struct child_draft {
    bool exists = false;
    child entry;                ///< its reference is undefined while `node` is set
    node_draft* node = nullptr; ///< null: a leaf, or an unchanged node

    /// Whether it equals the old child.
    [[nodiscard]] bool is_same_as(const std::optional<child>& old) const noexcept {
        if (!exists || !old) return !exists && !old;
        return node == nullptr && entry.is_leaf == old->is_leaf && entry.digest == old->digest;
    }
};

/// The new version of a node.
struct node_draft {
    struct changed_child {
        unsigned digit;
        child_draft now;
    };
    std::optional<node_ref> old; ///< the node that it replaces; nothing: a new node
    node_view was{nullptr, 0};   ///< the old node
    std::uint16_t branches = 0;
    std::uint16_t leaves = 0;
    std::span<changed_child> changed; ///< by digit: changed or removed children
    /// The digests of its groups; null: the node does not keep them.
    const std::array<sha256_digest, groups_per_node>* groups = nullptr;

    /// The new capacity: the smallest that its children fit; but an array one step too large is
    /// kept, so that a node whose child comes and goes is not reallocated each time.
    [[nodiscard]] unsigned capacity_class() const noexcept {
        const unsigned smallest = capacity_class_of(count_of(branches));
        return old && old->capacity_class() == smallest + 1 ? smallest + 1 : smallest;
    }
    /// Whether it stays in the same object.
    [[nodiscard]] bool stays() const noexcept {
        return old && old->capacity_class() == capacity_class();
    }
};

/// Computes the changes of a tree with all digests, without changing it; reads only nodes on the
/// path to a change. Several drafters may work at once, for different branches of the root.
///
/// Drafts live in `memory`, and are valid while the tree is unchanged. For one thread.
class drafter {
public:
    drafter(const node_store& tree, std::pmr::memory_resource& memory)
        : tree_(tree), memory_(memory) {}

    /// The draft at `level` that replaces `old`. `changes` are in the order of their keys, without
    /// duplicates, and share the digits above `level` with everything below `old`. Throws
    /// std::bad_alloc, damaged_error, and what class sha256 throws.
    [[nodiscard]] child_draft replace(const std::optional<child>& old,
                                      std::span<const leaf_change> changes, unsigned level);

    /// The node of `level` with these children replaced; `children` lists every changed child of
    /// `old`. A node with only one leaf left collapses to that leaf, unless it is the root.
    [[nodiscard]] child_draft assemble(std::optional<node_ref> old,
                                       std::span<const node_draft::changed_child> children,
                                       unsigned level);

    /// Nodes that no longer belong to the tree.
    [[nodiscard]] const std::vector<node_ref>& gone() const noexcept { return gone_; }
    /// Nodes that the drafts need, by capacity.
    [[nodiscard]] const std::array<std::uint32_t, capacities.size()>& needed() const noexcept {
        return needed_;
    }
    /// By how many leaves the tree grows.
    [[nodiscard]] std::int64_t added() const noexcept { return added_; }

private:
    using changed_child = node_draft::changed_child;
    using digests = boost::container::static_vector<sha256_digest, branches_per_node>;

    [[nodiscard]] child_draft replace_child(const std::optional<child>& old,
                                            std::span<const leaf_change> changes, unsigned level);
    void look_ahead(const leaf_change* at);
    [[nodiscard]] child_draft add(std::span<const leaf_change> changes, unsigned level);
    [[nodiscard]] child_draft replace_node(node_ref old, std::span<const leaf_change> changes,
                                           unsigned level);
    [[nodiscard]] child_draft replace_leaf(const child& old, std::span<const leaf_change> changes,
                                           unsigned level);
    [[nodiscard]] child_draft collapse(const node_draft& draft,
                                       std::span<const changed_child> children);
    [[nodiscard]] std::span<changed_child> keep(std::span<const changed_child> children);
    [[nodiscard]] child_draft build(std::span<const leaf_change> leaves, unsigned level);
    void make_digest(child_draft& made, node_draft& draft);
    [[nodiscard]] std::array<sha256_digest, groups_per_node> groups_of(const node_draft& draft);
    [[nodiscard]] digests digests_of(const node_draft& draft, unsigned begin, unsigned end) const;

    const node_store& tree_;
    std::pmr::memory_resource& memory_;
    tree_hash hash_;
    /// The changes ahead of replace() whose paths are not prefetched yet.
    std::span<const leaf_change> ahead_;
    std::optional<node_ref> ahead_from_; ///< where the paths begin
    unsigned ahead_level_ = 0;           ///< the level of that node
    std::vector<node_ref> gone_;
    std::array<std::uint32_t, capacities.size()> needed_{};
    std::int64_t added_ = 0;
};

} // namespace chainbase::state_root
