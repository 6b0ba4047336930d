#include <tools/inspect/root/looked_at_tree.hpp>
#include <tools/inspect/root/still_tree.hpp>

#include <fmt/format.h>

namespace chainbase::inspect {

namespace {

/// At most 800 bytes each.
constexpr std::size_t most_copies = 20'000;

} // namespace

using state_root::node_ref;
using state_root::node_view;

still_tree::still_tree(still_state& state) : state_(state) {
    state_.take_turn([&] {
        const looked_at_tree tree(state_.source());
        head_ = tree.head();
        types_ = tree.types();
    });
}

node_view still_tree::view(node_ref node) const {
    auto found = copies_.find(node.bits());
    if (found == copies_.end()) {
        if (copies_.size() > most_copies) copies_.clear();
        state_.take_turn([&] {
            const looked_at_tree tree(state_.source());
            copy(tree, node);
            const node_view copied = tree.view(node);
            if (!copied.is_possible()) return;
            for (unsigned place = 0, digit = 0; digit < state_root::branches_per_node; ++digit) {
                if (!copied.has(digit)) continue;
                if (!copied.is_leaf(digit)) copy(tree, node_ref(copied.reference(place)));
                ++place;
            }
        });
        found = copies_.find(node.bits());
    }
    return {found->second.data(), node.capacity()};
}

void still_tree::copy(const looked_at_tree& from, node_ref node) const {
    const auto bytes = from.view(node).all();
    copies_[node.bits()].assign(bytes.begin(), bytes.end());
}

std::string_view still_tree::type_name(std::uint16_t number) const {
    if (const auto known = types_.find(number); known != types_.end()) return known->second;
    damaged(fmt::format("no type has the number {}, which a leaf names", number));
}

std::string still_tree::name() const {
    return state_.source().state().string() + ": state root";
}

} // namespace chainbase::inspect
