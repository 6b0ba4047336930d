#pragma once

#include <chainbase/fixed_string.hpp>
#include <chainbase/id.hpp>
#include <chainbase/keys.hpp>
#include <chainbase/sha256.hpp>
#include <chainbase/state_root/node.hpp>

#include <boost/describe.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace chainbase::state_root {

/// The tree itself: the only object of its type.
struct tree_head {
    /// 2: nodes of nine and ten children hash by groups. 3: arrays have other sizes.
    static constexpr std::uint32_t current_format = 3;
    static constexpr const char* type_name = "state_root.tree";

    chainbase::id<tree_head> id;
    std::uint32_t format = current_format;
    std::uint64_t leaves = 0;   ///< objects that the root commits to
    std::int64_t revision = -1; ///< of the state when it was brought up to date; -1: never
    sha256_digest digest{};     ///< the root
    std::uint32_t has_root = 0; ///< 0: there is no object, and so no node
    std::uint32_t root = 0;     ///< a node_ref
    std::array<std::uint32_t, capacities.size()> free{}; ///< first free node's id + 1, by capacity

    using keys = chainbase::keys<>;
    BOOST_DESCRIBE_CLASS(tree_head, (),
                         (id, format, leaves, revision, digest, has_root, root, free), (), ())
};

static_assert(std::is_standard_layout_v<tree_head> && offsetof(tree_head, format) == 4 &&
              offsetof(tree_head, leaves) == 8 && offsetof(tree_head, revision) == 16 &&
              offsetof(tree_head, digest) == 24 && offsetof(tree_head, has_root) == 56 &&
              offsetof(tree_head, root) == 60 && offsetof(tree_head, free) == 64 &&
              sizeof(tree_head) == 96);

/// A type whose objects the root commits to. Leaves name it by its id.
struct named_type {
    static constexpr const char* type_name = "state_root.types";

    chainbase::id<named_type> id;
    shared_string name;

    using keys = chainbase::keys<>;
    BOOST_DESCRIBE_CLASS(named_type, (), (id, name), (), ())
};

static_assert(std::is_standard_layout_v<named_type> && offsetof(named_type, name) == 8 &&
              sizeof(named_type) == 16);

} // namespace chainbase::state_root
