#pragma once

#include <chainbase/state_root/node_source.hpp>
#include <tools/inspect/rows/type_records.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace chainbase::inspect {

class looked_at_tree;

/// The tree of a state's root at one moment, for who takes no turn himself: nodes are copied, each
/// with those below it in a turn of its own, so that its writer never waits for more than that, and
/// two trees can be compared without a turn in a turn.
///
/// What view() gives is valid until its next call. Used by one thread.
class still_tree final : public state_root::node_source {
public:
    /// Takes a turn. Throws moved_meanwhile, and what looked_at_tree does. `state` outlives it.
    explicit still_tree(still_state& state);

    [[nodiscard]] const state_root::tree_head& head() const override { return head_; }
    /// Throws moved_meanwhile, too.
    [[nodiscard]] state_root::node_view view(state_root::node_ref node) const override;
    [[nodiscard]] std::string_view type_name(std::uint16_t number) const override;
    [[nodiscard]] std::string name() const override;

private:
    void copy(const looked_at_tree& from, state_root::node_ref node) const;

    still_state& state_;
    state_root::tree_head head_;
    std::map<std::uint16_t, std::string> types_;
    /// By reference: the bytes of those that were looked at lately.
    mutable std::unordered_map<std::uint32_t, std::vector<std::byte>> copies_;
};

} // namespace chainbase::inspect
