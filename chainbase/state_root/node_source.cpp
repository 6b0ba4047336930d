#include <chainbase/state_root/node_source.hpp>
#include <chainbase/state_root/tree_hash.hpp>
#include <pool_allocator/error.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::state_root {

node_view node_source::node_at(node_ref node, unsigned level) const {
    const node_view found = view(node);
    if (level < max_levels && found.size() != 0 && found.size() <= node.capacity()) return found;
    throw damaged_error("state root: node " + std::to_string(node.number()) + " of " +
                        std::to_string(node.capacity()) + " children, at level " +
                        std::to_string(level) + ", has " + std::to_string(found.size()) +
                        (level < max_levels ? "" : ", and keys lead no further") +
                        "; make the root anew");
}

std::optional<child> find_leaf(const node_source& tree, const sha256_digest& key) {
    std::optional<node_ref> at = tree.root();
    for (unsigned level = 0; at; ++level) {
        const node_view node = tree.node_at(*at, level);
        const unsigned branch = digit(key, level);
        if (!node.has(branch)) return std::nullopt;
        const child found = node.at_digit(branch);
        if (found.is_leaf) {
            const sha256_digest own = tree_hash().key(tree.type_name(found.type), found.reference);
            return own == key ? std::optional(found) : std::nullopt;
        }
        at = node_ref(found.reference);
    }
    return std::nullopt;
}

namespace {

std::uint64_t free_nodes(const node_source& tree, unsigned capacity_class) {
    std::uint64_t count = 0;
    for (std::uint32_t next = tree.head().free[capacity_class]; next != 0; ++count) {
        if (count > node_ref::max_nodes)
            throw damaged_error("state root: the free nodes of " +
                                std::to_string(capacities[capacity_class]) +
                                " children go round in a circle; make the root anew");
        next = tree.view(node_ref::make(next - 1, capacity_class)).reference(0);
    }
    return count;
}

} // namespace

tree_shape tree_shape::of(const node_source& tree) {
    tree_shape found;
    std::vector<std::pair<node_ref, unsigned>> waiting;
    if (const auto root = tree.root()) waiting.emplace_back(*root, 0u);
    while (!waiting.empty()) {
        const auto [at, level] = waiting.back();
        waiting.pop_back();
        const node_view node = tree.node_at(at, level);
        ++found.nodes_by_children[node.size()];
        ++found.nodes_by_capacity[at.capacity_class()];
        found.levels = std::max(found.levels, level + 1);
        found.leaves += count_of(node.leaves());
        for (unsigned digit = 0; digit < branches_per_node; ++digit)
            if (node.has(digit) && !node.is_leaf(digit))
                waiting.emplace_back(node_ref(node.at_digit(digit).reference), level + 1);
    }
    for (unsigned number = 0; number < capacities.size(); ++number)
        found.free_by_capacity[number] = free_nodes(tree, number);
    return found;
}

} // namespace chainbase::state_root
