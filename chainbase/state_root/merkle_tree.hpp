#pragma once

#include <chainbase/sha256.hpp>
#include <chainbase/state_root/draft.hpp>
#include <chainbase/state_root/node_source.hpp>
#include <chainbase/state_root/node_store.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::state_root {

class thread_pool;

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
///  3. The array of a node is the smallest that its children fit, or the next one.
///  4. Nodes of the largest array keep the digests of their groups.
///
/// Thread-safety: as the database's: reading under its read lock, update() by its writer.
class merkle_tree {
public:
    /// In `state`, which outlives this; the types "state_root.*" are registered there. Throws what
    /// database::add_type throws.
    explicit merkle_tree(database& state) : state_(state), nodes_(state) {}

    /// Applies changes, in any order, no two of one object: from here on the root is that of the
    /// objects as they are then. Changes to what is not there count as nothing. Part of the session
    /// under way. `pool` may be null. Throws format_error when another version made the tree,
    /// out_of_space_error, limit_error, damaged_error, std::bad_alloc; then nothing changed.
    void update(std::vector<leaf_change> changes, thread_pool* pool);

    /// Takes all leaves out, and commits to objects of these types from here on, by the digests of
    /// this version. The nodes stay, free for the next leaves; with no types, as who turns the root
    /// off, they are removed. Throws what database::clear and create throw, limit_error.
    void begin_anew(const std::set<std::string>& types);
    /// Declares the tree to be that of the state as it is now, as which it has this revision.
    void note_revision(std::int64_t revision);
    /// The same, after what is done in the session under way or before.
    void note_revision() { note_revision(state_.revision()); }

    /// Whether the tree is by the digests of this version, or there is none.
    [[nodiscard]] bool is_of_this_format() const {
        return nodes_.head().format == tree_head::current_format;
    }
    /// The digest that stands for all objects: 32 zeros when there are none.
    [[nodiscard]] sha256_digest root() const { return nodes_.head().digest; }
    /// How many there are.
    [[nodiscard]] std::uint64_t size() const { return nodes_.head().leaves; }
    /// The revision of the state as which update() left it, -1 if it was not since it began.
    [[nodiscard]] std::int64_t revision() const { return nodes_.head().revision; }
    /// The types by name, each with the number that leaf_change::type is of.
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

/// The root of these leaves, in any order, no two of one key: what a merkle_tree of them has,
/// without one. Throws what class sha256 throws.
[[nodiscard]] sha256_digest root_of(std::vector<whole_leaf> leaves);

/// An object that two states do not have in common.
struct difference {
    std::string_view type; ///< valid during the call
    std::uint32_t id;
    bool in_first;
    bool in_second; ///< with in_first: in both, with other content
};

/// Calls visit for every object that is not the same in two trees, in the order of their keys.
/// Looks only at what lies below nodes that differ: in a tree of N objects of which k differ,
/// about k log16(N) of them. Keeps nothing but the way to where it is. Throws what `visit` throws,
/// and damaged_error: then what it was called for says nothing. Both under their read lock.
void diff(const node_source& first, const node_source& second,
          const std::function<void(const difference&)>& visit);

} // namespace chainbase::state_root
