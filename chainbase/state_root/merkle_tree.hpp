#pragma once

#include <chainbase/state_root/draft.hpp>
#include <chainbase/state_root/node_source.hpp>
#include <chainbase/state_root/node_store.hpp>
#include <chainbase/state_root/sha256.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase {
class thread_pool;
}

namespace chainbase::state_root {

/// A Merkle tree of radix 16 over the objects of a state: the digest of the root commits to all of
/// them, independent of their order and history (tree_hash.hpp defines what is hashed).
///
/// Its nodes are objects of the state that it commits to, changed under the same write barrier:
/// undo, recovery after a kill, and a restore bring back the tree with the rest.
///
/// Invariants, between two calls:
///  1. There is a node exactly where two or more leaves share the digits that lead to it, and at
///     the root if there is any leaf. So the tree depends on the set of leaves only.
///  2. The digest beside a reference is that of its target.
///  3. The array of a node is the smallest that its children fit, or the next one.
///  4. Nodes of the largest array keep the digests of their groups.
///
/// Thread-safety: as the database's: reading under its read lock, update() by its writer.
class merkle_tree {
public:
    /// In `state`, which outlives this; the types "state_root.*" are registered there. Throws what
    /// database::add_type throws.
    explicit merkle_tree(database& state) : state_(state), nodes_(state) {}

    /// Applies changes, in any order, at most one per object: then the root is that of the changed
    /// objects. Removing an absent object does nothing. Part of the current session. `pool` may be
    /// null. Throws format_error when another version made the tree, out_of_space_error,
    /// limit_error, damaged_error, std::bad_alloc; then nothing changed.
    void update(std::vector<leaf_change> changes, thread_pool* pool);

    /// Removes all leaves, and from then on commits to objects of these types, with the digests of
    /// this version. The nodes are kept, free for the next leaves; with no types, which turns the
    /// root off, they are removed. Throws what database::clear and create throw, limit_error.
    void reset(const std::set<std::string>& types);
    /// Declares that the tree matches the present state, whose revision is `revision`.
    void note_revision(std::int64_t revision);
    /// The same, with the state's present revision.
    void note_revision() { note_revision(state_.revision()); }

    /// Whether the tree has the digests of this version, or there is no tree.
    [[nodiscard]] bool is_of_this_format() const {
        return nodes_.head().format == tree_head::current_format;
    }
    /// The digest of all objects: 32 zeros when there are none.
    [[nodiscard]] sha256_digest root() const { return nodes_.head().digest; }
    /// How many there are.
    [[nodiscard]] std::uint64_t size() const { return nodes_.head().leaves; }
    /// The revision of the state that the tree matches, -1 if it was never updated.
    [[nodiscard]] std::int64_t revision() const { return nodes_.head().revision; }
    /// The types by name, each with its number for leaf_change::type.
    [[nodiscard]] std::map<std::string, std::uint16_t> type_numbers() const {
        return nodes_.type_numbers();
    }
    [[nodiscard]] const node_store& nodes() const noexcept { return nodes_; }

private:
    database& state_;
    node_store nodes_;
};

struct whole_leaf {
    sha256_digest key;  ///< tree_hash::key
    sha256_digest leaf; ///< tree_hash::leaf
};

/// The root of a merkle_tree of these leaves, in any order and without duplicate keys, computed
/// without a tree. Throws what class sha256 throws.
[[nodiscard]] sha256_digest root_of(std::vector<whole_leaf> leaves);

/// An object that differs between two states.
struct difference {
    std::string_view type; ///< valid during the call
    std::uint32_t id;
    bool in_first;
    bool in_second; ///< with in_first: in both, with other content
};

/// Calls visit for every object that differs between two trees, in the order of their keys. Reads
/// only below nodes that differ: in a tree of N objects of which k differ, about k log16(N) nodes.
/// Keeps only the current path. Throws what `visit` throws, and damaged_error: then the visited
/// objects prove nothing. Requires both read locks.
void diff(const node_source& first, const node_source& second,
          const std::function<void(const difference&)>& visit);

} // namespace chainbase::state_root
