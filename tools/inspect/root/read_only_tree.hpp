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

/// The tree of a state's root, read in place through the catalogue.
///
/// Made in a turn, and of use until that ends. Reading is thread-safe.
class read_only_tree final : public state_root::node_source {
public:
    /// Throws usage_error when the state has no root, format_error when another version made it,
    /// damaged_error.
    explicit read_only_tree(row_source& state);

    [[nodiscard]] const state_root::tree_head& head() const override { return head_; }
    [[nodiscard]] state_root::node_view view(state_root::node_ref node) const override;
    [[nodiscard]] std::string_view type_name(std::uint16_t number) const override;
    [[nodiscard]] std::string name() const override;

    /// The node of that reference, free or not, whatever is in it; nothing when there is none.
    /// Throws damaged_error when what leads to it is damaged.
    [[nodiscard]] std::optional<state_root::node_view> find(state_root::node_ref node) const;
    /// Nodes of a capacity with this number or a higher one there are not.
    [[nodiscard]] std::uint32_t end(unsigned capacity_class) const;
    /// The types that are committed to, by their numbers.
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

/// "state_root.nodes5 17", as the inspector names an object.
[[nodiscard]] std::string name_of(state_root::node_ref node);
/// The name of the type of its nodes.
[[nodiscard]] const std::string& node_type(unsigned capacity_class);

/// Nodes of one capacity, from the number `begin` on, below `end`.
struct node_range {
    unsigned capacity_class = 0;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
};

/// So many nodes are checked in a turn.
constexpr std::uint32_t nodes_in_a_turn = 4096;

/// All nodes that a state has, in ranges of at most so many. Takes a turn.
[[nodiscard]] std::vector<node_range> node_ranges(still_state& state, std::uint32_t nodes_at_once);

/// Visits the nodes of a range, those that are free too, in turns of at most row_source::slice.
/// Throws moved_meanwhile, and what read_only_tree and `look` do.
void each_node(still_state& state, node_range range,
               const std::function<void(const read_only_tree&, state_root::node_ref,
                                        const state_root::node_view&)>& look);

/// The tree of a state's root at one moment, for callers that take no turns: nodes are copied, each
/// with those below it in a turn of its own, so that its writer never waits for more than that, and
/// two trees can be compared without a turn in a turn.
///
/// What view() gives is valid until its next call. Used by one thread.
class copied_tree final : public state_root::node_source {
public:
    /// Takes a turn. Throws moved_meanwhile, and what read_only_tree does. `state` outlives it.
    explicit copied_tree(still_state& state);

    [[nodiscard]] const state_root::tree_head& head() const override { return head_; }
    /// Throws moved_meanwhile, too.
    [[nodiscard]] state_root::node_view view(state_root::node_ref node) const override;
    [[nodiscard]] std::string_view type_name(std::uint16_t number) const override;
    [[nodiscard]] std::string name() const override;

private:
    void copy(const read_only_tree& from, state_root::node_ref node) const;

    still_state& state_;
    state_root::tree_head head_;
    std::map<std::uint16_t, std::string> types_;
    /// By reference: the bytes of those that were looked at lately.
    mutable std::unordered_map<std::uint32_t, std::vector<std::byte>> copies_;
};

} // namespace chainbase::inspect
