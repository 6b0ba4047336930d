#pragma once

#include <chainbase/state_root/draft.hpp>
#include <chainbase/state_root/helpers.hpp>
#include <chainbase/state_root/node_store.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace chainbase::state_root {

/// How the nodes of a tree look.
struct tree_shape {
    /// Nodes that have so many children; [0] is of no meaning.
    std::array<std::uint64_t, branches_per_node + 1> nodes_by_children{};
    /// Nodes by the capacity of their arrays, as `capacities`; and those that are free.
    std::array<std::uint64_t, capacities.size()> nodes_by_capacity{};
    std::array<std::uint64_t, capacities.size()> free_by_capacity{};
    std::uint64_t leaves = 0;
    unsigned levels = 0; ///< on the longest way from the root to a leaf
};

/// A Merkle tree of radix 16 over the objects of a state: the digest of the root commits to all of
/// them, whatever the order and the history in which they came to be (tree_hash.hpp says what is
/// hashed).
///
/// Its nodes are objects of the state that it commits to, changed under the same write barrier:
/// undo, a kill and a restore give back the tree with the rest.
///
/// Invariants, between two calls:
///  1. There is a node where two leaves or more have the digits that lead to it, and at the root if
///     there is any; nowhere else. So the tree is the same for the same leaves.
///  2. The digest beside a reference is that of what it refers to.
///  3. A node has a smaller array than its own only by one class, or two children fewer: see
///     capacity_for().
///
/// Thread-safety: as the database's: reading under its read lock, update() by its writer.
class merkle_tree {
public:
    /// In `state`, which outlives this; the types "state_root.*" are registered there. Throws what
    /// database::add_type and create throw, format_error when another version made the tree.
    explicit merkle_tree(database& state);

    /// Applies changes, in any order, no two of one object: from here on the root is that of the
    /// objects as they are then. Changes to what is not there count as nothing. Part of the session
    /// under way. `helping` may be null. Throws out_of_space_error, limit_error, damaged_error,
    /// std::bad_alloc; then nothing changed.
    void update(std::vector<leaf_change> changes, helpers* helping);

    /// Takes all leaves out. Throws as update does.
    void clear();
    /// Declares the tree to be that of the state as it is now.
    void note_revision();

    /// The digest that stands for all objects: 32 zeros when there are none.
    [[nodiscard]] sha256_digest root() const { return nodes_.head().digest; }
    /// How many there are.
    [[nodiscard]] std::uint64_t size() const { return nodes_.head().leaves; }
    /// The revision of the state as which update() left it, -1 if it was never called.
    [[nodiscard]] std::int64_t revision() const { return nodes_.head().revision; }
    /// The leaf of a key, if the tree has one.
    [[nodiscard]] std::optional<child> find(const sha256_digest& key) const;
    /// Visits all nodes.
    [[nodiscard]] tree_shape shape() const;

    /// See node_store.
    std::uint16_t type_number(std::string_view name) { return nodes_.type_number(name); }
    [[nodiscard]] const node_store& nodes() const noexcept { return nodes_; }

private:
    database& state_;
    node_store nodes_;
};

} // namespace chainbase::state_root
