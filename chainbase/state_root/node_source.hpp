#pragma once

#include <chainbase/fixed_string.hpp>
#include <chainbase/id.hpp>
#include <chainbase/keys.hpp>
#include <chainbase/state_root/node.hpp>
#include <chainbase/state_root/sha256.hpp>
#include <chainbase/state_root/tree_hash.hpp>

#include <boost/describe.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace chainbase::state_root {

/// The tree itself: the only object of its type.
struct tree_head {
    /// 2: nodes of nine and ten children hash by groups. 3: arrays have other sizes.
    static constexpr std::uint32_t current_format = 3;
    static constexpr const char* type_name = "state_root.tree";

    chainbase::id<tree_head> id;
    std::uint32_t format = current_format;
    std::uint64_t leaves = 0;                            ///< objects that the root commits to
    std::int64_t revision = -1;                          ///< of the state that it matches; -1: none
    sha256_digest digest{};                              ///< the root
    std::uint32_t has_root = 0;                          ///< 0: there is no object, and so no node
    std::uint32_t root = 0;                              ///< a node_ref
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

/// Reads the nodes of a tree: in a database (node_store), or in a state that is inspected from
/// outside. The functions below work on any source.
class node_source {
public:
    virtual ~node_source() = default;

    [[nodiscard]] virtual const tree_head& head() const = 0;
    /// A node of the tree, or a free one; the caller must distinguish them. Valid at least until
    /// the next call. Throws damaged_error when there is no such node.
    [[nodiscard]] virtual node_view view(node_ref node) const = 0;
    /// Throws damaged_error when no type has this number.
    [[nodiscard]] virtual std::string_view type_name(std::uint16_t number) const = 0;

    /// The name of the tree in the messages of damaged().
    [[nodiscard]] virtual std::string name() const = 0;

    [[nodiscard]] std::optional<node_ref> root() const {
        if (head().has_root == 0) return std::nullopt;
        return node_ref(head().root);
    }
    /// The node of `level` that the root or another node refers to. Throws damaged_error when it
    /// does not exist, when no tree can have it, and beyond the last level, so that every descent
    /// from the root ends.
    [[nodiscard]] node_view node_at(node_ref node, unsigned level) const {
        const node_view found = view(node);
        if (level >= max_levels || !found.is_possible()) throw_impossible(node, level);
        return found;
    }
    /// Throws damaged_error: the tree is damaged, as `what` says.
    [[noreturn]] void damaged(const std::string& what) const;

private:
    [[noreturn]] void throw_impossible(node_ref node, unsigned level) const;
};

/// Counts the nodes visited by a walk over a tree. In a damaged tree a node may be below two
/// others, and then the paths double from level to level.
class walked_nodes {
public:
    explicit walked_nodes(const node_source& tree) noexcept : tree_(tree) {}
    /// Call it before each node. Throws damaged_error when there are more nodes than a tree of that
    /// many leaves can have.
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

/// Statistics of the nodes of a tree.
struct tree_shape {
    /// Nodes that have so many children; [0] is of no meaning.
    std::array<std::uint64_t, branches_per_node + 1> nodes_by_children{};
    /// Nodes by the capacity of their arrays, as `capacities`; and those that are free.
    std::array<std::uint64_t, capacities.size()> nodes_by_capacity{};
    std::array<std::uint64_t, capacities.size()> free_by_capacity{};
    std::uint64_t leaves = 0;
    unsigned levels = 0; ///< on the longest path from the root to a leaf

    /// Visits all nodes. Throws damaged_error.
    [[nodiscard]] static tree_shape of(const node_source& tree);
};

} // namespace chainbase::state_root
