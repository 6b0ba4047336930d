#pragma once

#include <chainbase/database.hpp>
#include <chainbase/fixed_string.hpp>
#include <chainbase/state_root/node.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::state_root {

/// The tree itself: the only object of its type.
struct tree_head {
    static constexpr std::uint32_t current_format = 1;

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

/// A type whose objects the root commits to. Leaves name it by its id.
struct named_type {
    chainbase::id<named_type> id;
    shared_string name;

    using keys = chainbase::keys<>;
    BOOST_DESCRIBE_CLASS(named_type, (), (id, name), (), ())
};

/// What a node is going to have.
struct node_content {
    std::uint16_t branches = 0;
    std::uint16_t leaves = 0;
    std::span<const child> children; ///< one per branch, in order
};

/// The nodes of a tree as objects of a database, under the write barrier, so that undo, kills and
/// checkpoints treat them as all others. Nodes that are let go are kept for the next ones of their
/// capacity: ids, which a database gives out once, would be used up else.
///
/// Reading is thread-safe while nobody writes.
class node_store {
public:
    /// Registers the types "state_root.*" in `state`, which outlives this, and makes the tree's
    /// head. Throws what database::add_type and create throw.
    explicit node_store(database& state);

    [[nodiscard]] const tree_head& head() const { return state_.get(id<tree_head>(0)); }
    [[nodiscard]] std::optional<node_ref> root() const {
        if (head().has_root == 0) return std::nullopt;
        return node_ref(head().root);
    }
    /// Requires a node of this tree.
    [[nodiscard]] node_view view(node_ref node) const { return {place_of(node), node.capacity()}; }
    /// The number of the type called `name`; a new one, if it has none yet. Throws what create
    /// throws, limit_error.
    std::uint16_t type_number(std::string_view name);
    /// Throws damaged_error when no type has this number.
    [[nodiscard]] std::string_view type_name(std::uint16_t number) const;
    /// The nodes made so far of a capacity, those that are free too.
    [[nodiscard]] std::uint32_t made(unsigned capacity_class) const;
    /// Of those that are free.
    [[nodiscard]] std::uint32_t free(unsigned capacity_class) const;

    /// Lets the tree be without any node. Throws what database::clear throws; then nothing changed.
    void clear();
    /// Sees to it that the next take()s of each capacity succeed. Throws what create throws.
    void reserve(const std::array<std::uint32_t, capacities.size()>& nodes);

    /// Changes nodes and head in one operation: `change` calls take, let_go, write and set_head.
    /// Throws out_of_space_error when the log cannot grow, and what `change` throws; then nothing
    /// was changed.
    void apply(const std::function<void()>& change);

    /// @name Within apply()
    /// @{
    /// A node that was free.
    [[nodiscard]] node_ref take(unsigned capacity_class);
    void let_go(node_ref node);
    /// Lets a node have this content. Only what differs is written.
    void write(node_ref node, const node_content& content);
    /// Lets the child in a place of its arrays have another digest.
    void write_digest(node_ref node, unsigned place, const sha256_digest& digest);
    void write_head(const tree_head& head);
    /// @}

private:
    [[nodiscard]] std::byte* place_of(node_ref node) const;
    void write_difference(std::byte* place, const std::byte* wanted, std::size_t bytes);

    database& state_;
};

} // namespace chainbase::state_root
