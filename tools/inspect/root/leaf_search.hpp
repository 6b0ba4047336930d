#pragma once

#include <chainbase/sha256.hpp>
#include <tools/inspect/root/looked_at_tree.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace chainbase::inspect {

/// An object whose leaf is looked for.
struct wanted_leaf {
    sha256_digest key; ///< tree_hash::key
    std::uint16_t type = 0;
    std::uint32_t id = 0;
};

/// Where a leaf is.
struct found_leaf {
    state_root::node_ref node;
    sha256_digest digest;
};

/// The leaves of some objects where their keys lead, in their order; nothing where there is none.
/// As state_root::find_leaf, but of a tree that may be damaged, and of all at once, level by level,
/// so that waiting for the memory of one node overlaps with that for the others. In a turn. Throws
/// damaged_error when the table of the nodes is damaged.
[[nodiscard]] std::vector<std::optional<found_leaf>>
find_leaves(const looked_at_tree& tree, std::span<const wanted_leaf> wanted);

} // namespace chainbase::inspect
