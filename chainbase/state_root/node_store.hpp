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
    /// The types by name, each with its number.
    [[nodiscard]] std::map<std::string, std::uint16_t> type_numbers() const;
    /// Lets there be these types: those that are there already keep their numbers. Requires that no
    /// leaf names another one. Throws what create throws, limit_error.
    void set_types(const std::set<std::string>& names);
    [[nodiscard]] std::string_view type_name(std::uint16_t number) const override;
    /// The nodes made so far of a capacity, those that are free too.
    [[nodiscard]] std::uint32_t made(unsigned capacity_class) const;

    /// Lets the tree be empty, of this version and as of no revision; its nodes are free. Throws
    /// out_of_space_error; then nothing changed.
    void let_all_go();
    /// The same, and there are no nodes: new ones have other ids. Throws what database::clear
    /// throws; then nothing changed.
    void clear();
    /// Sees to it that the next take()s of each capacity succeed. Throws what create throws.
    void reserve(const std::array<std::uint32_t, capacities.size()>& nodes);

    /// Requires a head. Changes nodes and head in one operation: `change` calls take, let_go, write
    /// and write_head. Throws out_of_space_error when the log cannot grow, and what `change`
    /// throws; then nothing was changed.
    void apply(const std::function<void()>& change);

    /// @name Within apply()
    /// @{
    /// A node that was free.
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
    template <typename Node>
    [[nodiscard]] std::uint32_t link_free();
    [[nodiscard]] std::byte* place_of(node_ref node) const;
    static void write_difference(std::byte* place, const std::byte* wanted, std::size_t bytes);

    database& state_;
};

} // namespace chainbase::state_root
