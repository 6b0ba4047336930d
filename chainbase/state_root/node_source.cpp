#include <chainbase/state_root/node_source.hpp>
#include <pool_allocator/base/error.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::state_root {

void node_source::damaged(const std::string& what) const {
    throw damaged_error(name() + ": " + what +
                        "; make the root anew (chainbase-driver: --state-root none, and in a "
                        "second call the types as before)");
}

void node_source::throw_impossible(node_ref node, unsigned level) const {
    damaged("node " + std::to_string(node.number()) + " of " + std::to_string(node.capacity()) +
            " children, to which another node leads, " +
            (level >= max_levels ? "is deeper than keys have digits"
                                 : "is free, or has more children or leaves than it can have"));
}

void walked_nodes::throw_too_many() const {
    tree_.damaged("has more nodes than its " + std::to_string(tree_.head().leaves) +
                  " leaves can have above them: several lead to the same ones");
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
    std::uint32_t passed = 0; // one that the list must not come back to: each 2^k-th (Brent 1980)
    for (std::uint32_t next = tree.head().free[capacity_class]; next != 0; ++count) {
        const node_view node = tree.view(node_ref::make(next - 1, capacity_class));
        if (next == passed || node.branches() != 0)
            tree.damaged("the list of free nodes leads to node " + std::to_string(next - 1) +
                         " of " + std::to_string(capacities[capacity_class]) +
                         " children, which is not free or was in it already");
        if ((count & (count + 1)) == 0) passed = next;
        next = node.reference(0);
    }
    return count;
}

} // namespace

tree_shape tree_shape::of(const node_source& tree) {
    tree_shape found;
    walked_nodes walked(tree);
    std::vector<std::pair<node_ref, unsigned>> waiting;
    if (const auto root = tree.root()) waiting.emplace_back(*root, 0u);
    while (!waiting.empty()) {
        const auto [at, level] = waiting.back();
        waiting.pop_back();
        walked.count();
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
