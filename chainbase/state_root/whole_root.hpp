#pragma once

#include <chainbase/sha256.hpp>

#include <vector>

namespace chainbase::state_root {

struct whole_leaf {
    sha256_digest key;  ///< tree_hash::key
    sha256_digest leaf; ///< tree_hash::leaf
};

/// The root of these leaves, in any order, no two of one key: what a merkle_tree of them has,
/// without one. Throws what class sha256 throws.
[[nodiscard]] sha256_digest root_of(std::vector<whole_leaf> leaves);

} // namespace chainbase::state_root
