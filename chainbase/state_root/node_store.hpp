#pragma once

#include <chainbase/database.hpp>
#include <chainbase/state_root/node_source.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::state_root {

/// The new content of a node.
struct node_content {
    std::uint16_t branches = 0;
    std::uint16_t leaves = 0;
    std::span<const child> children; ///< one per branch, in order
    const std::array<sha256_digest, groups_per_node>* groups = nullptr; ///< of the largest capacity
};

/// The nodes of a tree as objects of a database, under the write barrier, so that undo, recovery
/// and checkpoints treat them like all others. Freed nodes are kept for reuse by capacity: a
/// database gives out each id once, so new objects would use up the ids.
///
/// Reading is thread-safe while nobody writes.
class node_store final : public node_source {
public:
    /// Registers the types "state_root.*" in `state`, which outlives this. Throws what
    /// database::add_type throws.
    explicit node_store(database& state);

    /// The head of an empty tree when there is none: undoing the block that made it removes it.
    [[nodiscard]] const tree_head& head() const override;
    /// Creates the head if there is none. Throws what create throws.
    void make_head();
    [[nodiscard]] node_view view(node_ref node) const override {
        return {place_of(node), node.capacity()};
    }
    [[nodiscard]] std::string name() const override;
    /// The types by name, each with its number.
    [[nodiscard]] std::map<std::string, std::uint16_t> type_numbers() const;
    /// Sets the types: existing ones keep their numbers. Requires that no leaf names another type.
    /// Throws what create throws, limit_error.
    void set_types(const std::set<std::string>& names);
    [[nodiscard]] std::string_view type_name(std::uint16_t number) const override;
    /// The number of nodes of a capacity, including free ones.
    [[nodiscard]] std::uint32_t made(unsigned capacity_class) const;

    /// Empties the tree, with this version and no revision. All nodes are kept, free for the next
    /// tree, so that rebuilding it uses up no ids. Throws out_of_space_error, and what create
    /// throws; then nothing changed.
    void reset();
    /// The same, but removes the nodes: frees their memory, and their ids are used up. Throws what
    /// database::clear and create throw; then nothing changed.
    void clear();
    /// Ensures that the next `nodes` calls of take() per capacity succeed. Throws what create
    /// throws.
    void reserve(const std::array<std::uint32_t, capacities.size()>& nodes);

    /// Requires a head. Changes nodes and head in one operation: `change` calls take, free, write
    /// and write_head. Throws out_of_space_error when the log cannot grow, and what `change`
    /// throws; then nothing changed.
    void apply(const std::function<void()>& change);

    /// @name Within apply()
    /// @{
    /// Takes a free node. Throws damaged_error when the free list leads to a node in use.
    [[nodiscard]] node_ref take(unsigned capacity_class);
    void free(node_ref node);
    /// Sets the content of a node. Writes only what differs.
    void write(node_ref node, const node_content& content);
    /// Sets the digest of the child at `digit`.
    void write_digest(const node_view& node, unsigned digit, const sha256_digest& digest);
    /// Of a node of the largest capacity.
    void write_groups(const node_view& node,
                      const std::array<sha256_digest, groups_per_node>& groups);
    void write_head(const tree_head& head);
    /// @}

private:
    [[nodiscard]] std::byte* place_of(node_ref node) const;
    /// The first node of the free list that begins with `first`, an id + 1.
    [[nodiscard]] node_view free_node(std::uint32_t first, unsigned capacity_class) const;
    /// Of an empty tree.
    void write_empty_head(const std::array<std::uint32_t, capacities.size()>& free);
    /// Puts all nodes of a capacity into the free list, lowest ids first. Returns the first one's
    /// id + 1.
    [[nodiscard]] std::uint32_t free_all(unsigned capacity_class);
    /// Marks a node as free; `next` is the next free node's id + 1.
    void write_free(node_ref node, std::uint32_t next);
    static void write_difference(std::byte* place, const std::byte* wanted, std::size_t bytes);

    database& state_;
};

} // namespace chainbase::state_root
