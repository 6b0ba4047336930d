#include <chainbase/state_root/tree_hash.hpp>
#include <tools/inspect/root/leaf_search.hpp>

#include <cstddef>

namespace chainbase::inspect {

namespace {

using state_root::child;
using state_root::node_ref;
using state_root::node_view;

/// On the way to a leaf.
struct walk {
    std::size_t number; ///< of what is wanted
    node_ref at;
    std::optional<node_view> node = std::nullopt;
};

/// Goes to the next node; false: there is none.
bool step(walk& one, const wanted_leaf& wanted, unsigned level, std::optional<found_leaf>& found) {
    if (!one.node || one.node->size() > one.at.capacity()) return false;
    const unsigned digit = state_root::digit(wanted.key, level);
    if (!one.node->has(digit)) return false;
    const child next = one.node->at_digit(digit);
    if (!next.is_leaf) {
        one.at = node_ref(next.reference);
        return true;
    }
    if (next.type == wanted.type && next.reference == wanted.id)
        found = found_leaf{one.at, next.digest};
    return false;
}

} // namespace

std::vector<std::optional<found_leaf>> find_leaves(const looked_at_tree& tree,
                                                   std::span<const wanted_leaf> wanted) {
    std::vector<std::optional<found_leaf>> found(wanted.size());
    std::vector<walk> walks;
    if (const auto root = tree.root())
        for (std::size_t number = 0; number < wanted.size(); ++number)
            walks.push_back({number, *root});
    for (unsigned level = 0; !walks.empty() && level < state_root::max_levels; ++level) {
        for (walk& one : walks) {
            one.node = tree.find(one.at);
            if (one.node) one.node->prefetch();
        }
        auto kept = walks.begin();
        for (walk& one : walks)
            if (step(one, wanted[one.number], level, found[one.number])) *kept++ = one;
        walks.erase(kept, walks.end());
    }
    return found;
}

} // namespace chainbase::inspect
