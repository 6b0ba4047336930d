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

/// What became of one object.
struct leaf_change {
    sha256_digest key;  ///< tree_hash::key
    sha256_digest leaf; ///< tree_hash::leaf; of one that is gone: of no meaning
    std::uint32_t id = 0;
    std::uint16_t type = 0; ///< node_store::type_numbers
    bool exists = true;
};

struct node_draft;

/// A child as it is going to be.
struct child_draft {
    bool exists = false;
    child entry;                ///< its reference is open while there is a draft of the node
    node_draft* node = nullptr; ///< null: a leaf, or a node that stays as it is

    /// Whether it is what was there before.
    [[nodiscard]] bool is_same_as(const std::optional<child>& old) const noexcept {
        if (!exists || !old) return !exists && !old;
        return node == nullptr && entry.is_leaf == old->is_leaf && entry.digest == old->digest;
    }
};

/// A node as it is going to be.
struct node_draft {
    struct changed_child {
        unsigned digit;
        child_draft now;
    };
    std::optional<node_ref> old; ///< the node that it was; nothing: a new one
    node_view was{nullptr, 0};   ///< that one
    std::uint16_t branches = 0;
    std::uint16_t leaves = 0;
    std::span<changed_child> changed; ///< by digit: those that are not as they were, or not there
    /// Of the digits that have any; null: it is none of those that keep them.
    const std::array<sha256_digest, groups_per_node>* groups = nullptr;

    /// The capacity it is going to have: the smallest that its children fit; but an array that is a
    /// step too large stays, lest a node goes back and forth where one child comes and goes.
    [[nodiscard]] unsigned capacity_class() const noexcept {
        const unsigned smallest = capacity_class_of(count_of(branches));
        return old && old->capacity_class() == smallest + 1 ? smallest + 1 : smallest;
    }
    /// Whether it is going to be the object that it was.
    [[nodiscard]] bool stays() const noexcept {
        return old && old->capacity_class() == capacity_class();
    }
};

/// Makes out what changes in a tree, with all digests, and changes nothing: only nodes on the way
/// to a change are looked at. So several may do so at once, each for other branches of the root.
///
/// Drafts live in `memory` and as long as the tree stays as it is. For one thread.
class drafter {
public:
    drafter(const node_store& tree, std::pmr::memory_resource& memory)
        : tree_(tree), memory_(memory) {}

    /// What is going to be at `level` in place of `old`, whatever that is. `changes` are in the
    /// order of their keys, no two of one key, and agree with all that is below `old` in the digits
    /// above `level`. Throws std::bad_alloc, damaged_error, and what class sha256 throws.
    [[nodiscard]] child_draft replace(const std::optional<child>& old,
                                      std::span<const leaf_change> changes, unsigned level);

    /// The node of `level` with these children in place of those of `old`, which are all that
    /// change; one that has but a leaf left gives way to it, unless it is the root.
    [[nodiscard]] child_draft assemble(std::optional<node_ref> old,
                                       std::span<const node_draft::changed_child> children,
                                       unsigned level);

    /// Nodes that are none of the tree any more.
    [[nodiscard]] const std::vector<node_ref>& gone() const noexcept { return gone_; }
    /// Nodes that the drafts need, by capacity.
    [[nodiscard]] const std::array<std::uint32_t, capacities.size()>& needed() const noexcept {
        return needed_;
    }
    /// By how much there are more leaves.
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
    [[nodiscard]] child_draft give_way(const node_draft& draft,
                                       std::span<const changed_child> children);
    [[nodiscard]] std::span<changed_child> keep(std::span<const changed_child> children);
    [[nodiscard]] child_draft build(std::span<const leaf_change> leaves, unsigned level);
    void make_digest(child_draft& made, node_draft& draft);
    [[nodiscard]] std::array<sha256_digest, groups_per_node> groups_of(const node_draft& draft);
    [[nodiscard]] digests digests_of(const node_draft& draft, unsigned begin, unsigned end) const;

    const node_store& tree_;
    std::pmr::memory_resource& memory_;
    tree_hash hash_;
    /// What replace() is going to come to, and whose ways were not asked for.
    std::span<const leaf_change> ahead_;
    std::optional<node_ref> ahead_from_; ///< where the ways begin
    unsigned ahead_level_ = 0;           ///< the level of that node
    std::vector<node_ref> gone_;
    std::array<std::uint32_t, capacities.size()> needed_{};
    std::int64_t added_ = 0;
};

} // namespace chainbase::state_root
