#pragma once

#include <chainbase/state_root/node_source.hpp>
#include <tools/inspect/rows/row_source.hpp>
#include <tools/inspect/rows/type_records.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace chainbase::inspect {

/// The tree of a state's root, read through the catalogue.
///
/// Made in a turn and valid until it ends. Reading is thread-safe.
class read_only_tree final : public state_root::node_source {
public:
    /// Throws usage_error when the state has no root, format_error when another version made it,
    /// damaged_error.
    explicit read_only_tree(row_source& state);

    [[nodiscard]] const state_root::tree_head& head() const override { return head_; }
    [[nodiscard]] state_root::node_view view(state_root::node_ref node) const override;
    [[nodiscard]] std::string_view type_name(std::uint16_t number) const override;
    [[nodiscard]] std::string name() const override;

    /// The node with that reference, free or not, with any content; nothing when there is none.
    /// Throws damaged_error when the table that leads to it is damaged.
    [[nodiscard]] std::optional<state_root::node_view> find(state_root::node_ref node) const;
    /// End of the node numbers of a capacity.
    [[nodiscard]] std::uint32_t end(unsigned capacity_class) const;
    /// The committed types, by their numbers.
    [[nodiscard]] const std::map<std::uint16_t, std::string>& types() const noexcept {
        return types_;
    }

private:
    void read_head(const rows::type_rows& of);
    void read_types(const rows::type_rows& of);

    row_source& state_;
    state_root::tree_head head_;
    std::map<std::uint16_t, std::string> types_;
    std::vector<rows::type_rows> nodes_; ///< by capacity
};

/// "state_root.nodes5 17", the inspector's name of an object.
[[nodiscard]] std::string name_of(state_root::node_ref node);
/// The type name of its nodes.
[[nodiscard]] const std::string& node_type(unsigned capacity_class);

/// Nodes of one capacity, with numbers in [begin, end).
struct node_range {
    unsigned capacity_class = 0;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
};

/// Nodes checked in one turn.
constexpr std::uint32_t nodes_in_a_turn = 4096;

/// All nodes of a state, in ranges of limited length. Takes a turn.
[[nodiscard]] std::vector<node_range> node_ranges(unchanging_state& state,
                                                  std::uint32_t nodes_at_once);

/// Visits the nodes of a range, including free ones, in turns of at most row_source::slice. Throws
/// state_changed, and what read_only_tree and `look` throw.
void each_node(unchanging_state& state, node_range range,
               const std::function<void(const read_only_tree&, state_root::node_ref,
                                        const state_root::node_view&)>& look);

/// The tree of a state's root at one moment, for callers outside of turns. Copies nodes: each with
/// those below it in its own turn, so that the writer never waits longer than that, and two trees
/// can be compared without nested turns.
///
/// The result of view() is valid until the next call. Used by one thread.
class copied_tree final : public state_root::node_source {
public:
    /// Takes a turn. Throws state_changed, and what read_only_tree throws. `state` must outlive
    /// it.
    explicit copied_tree(unchanging_state& state);

    [[nodiscard]] const state_root::tree_head& head() const override { return head_; }
    /// Throws state_changed, too.
    [[nodiscard]] state_root::node_view view(state_root::node_ref node) const override;
    [[nodiscard]] std::string_view type_name(std::uint16_t number) const override;
    [[nodiscard]] std::string name() const override;

private:
    void copy(const read_only_tree& from, state_root::node_ref node) const;

    unchanging_state& state_;
    state_root::tree_head head_;
    std::map<std::uint16_t, std::string> types_;
    /// Recently read nodes by reference.
    mutable std::unordered_map<std::uint32_t, std::vector<std::byte>> copies_;
};

} // namespace chainbase::inspect
