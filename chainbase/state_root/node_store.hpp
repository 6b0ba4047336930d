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

/// What a node is going to have.
struct node_content {
    std::uint16_t branches = 0;
    std::uint16_t leaves = 0;
    std::span<const child> children; ///< one per branch, in order
    const std::array<sha256_digest, groups_per_node>* groups = nullptr; ///< of the largest capacity
};

/// The nodes of a tree as objects of a database, under the write barrier, so that undo, kills and
/// checkpoints treat them as all others. Nodes that are let go are kept for the next ones of their
/// capacity: ids, which a database gives out once, would be used up else.
///
/// Reading is thread-safe while nobody writes.
class node_store final : public node_source {
public:
    /// Registers the types "state_root.*" in `state`, which outlives this. Throws what
    /// database::add_type throws.
    explicit node_store(database& state);

    /// That of an empty tree when there is none: it goes with the block that it came with.
    [[nodiscard]] const tree_head& head() const override;
    /// Makes one, if there is none. Throws what create throws.
    void make_head();
    [[nodiscard]] node_view view(node_ref node) const override {
        return {place_of(node), node.capacity()};
    }
    [[nodiscard]] std::string name() const override;
    /// The types by name, each with its number.
    [[nodiscard]] std::map<std::string, std::uint16_t> type_numbers() const;
    /// Lets there be these types: those that are there already keep their numbers. Requires that no
    /// leaf names another one. Throws what create throws, limit_error.
    void set_types(const std::set<std::string>& names);
    [[nodiscard]] std::string_view type_name(std::uint16_t number) const override;
    /// The nodes made so far of a capacity, those that are free too.
    [[nodiscard]] std::uint32_t made(unsigned capacity_class) const;

    /// Lets the tree be empty, of this version and of no revision. All nodes that there are stay,
    /// free: the next tree takes them, so that making it anew uses no ids up. Throws
    /// out_of_space_error, and what create throws; then nothing changed.
    void let_all_go();
    /// The same, but removes the nodes: their memory is for others, their ids are used up. Throws
    /// what database::clear and create throw; then nothing changed.
    void clear();
    /// Sees to it that the next take()s of each capacity succeed. Throws what create throws.
    void reserve(const std::array<std::uint32_t, capacities.size()>& nodes);

    /// Requires a head. Changes nodes and head in one operation: `change` calls take, let_go, write
    /// and write_head. Throws out_of_space_error when the log cannot grow, and what `change`
    /// throws; then nothing was changed.
    void apply(const std::function<void()>& change);

    /// @name Within apply()
    /// @{
    /// A node that was free. Throws damaged_error when the list of them leads to one that is not.
    [[nodiscard]] node_ref take(unsigned capacity_class);
    void let_go(node_ref node);
    /// Lets a node have this content. Only what differs is written.
    void write(node_ref node, const node_content& content);
    /// Lets the child at `digit` have another digest.
    void write_digest(const node_view& node, unsigned digit, const sha256_digest& digest);
    /// Of a node of the largest capacity.
    void write_groups(const node_view& node,
                      const std::array<sha256_digest, groups_per_node>& groups);
    void write_head(const tree_head& head);
    /// @}

private:
    [[nodiscard]] std::byte* place_of(node_ref node) const;
    /// The first in the list of free nodes that begins with `first`, an id + 1.
    [[nodiscard]] node_view free_node(std::uint32_t first, unsigned capacity_class) const;
    /// Of an empty tree.
    void write_empty_head(const std::array<std::uint32_t, capacities.size()>& free);
    /// Puts all nodes of a capacity into the list of free ones, the lowest ids first; the first
    /// one's id + 1.
    [[nodiscard]] std::uint32_t free_all(unsigned capacity_class);
    /// Lets a node be free, `next` being the next free one's id + 1.
    void write_free(node_ref node, std::uint32_t next);
    static void write_difference(std::byte* place, const std::byte* wanted, std::size_t bytes);

    database& state_;
};

} // namespace chainbase::state_root
