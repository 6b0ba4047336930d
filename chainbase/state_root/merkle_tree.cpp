#include <chainbase/state_root/merkle_tree.hpp>
#include <chainbase/state_root/tree_update.hpp>
#include <pool_allocator/error.hpp>

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

namespace chainbase::state_root {

merkle_tree::merkle_tree(database& state) : state_(state), nodes_(state) {
    const std::uint32_t format = nodes_.head().format;
    if (format != tree_head::current_format)
        throw format_error(state.memory().state().string() + ": the state root has format " +
                           std::to_string(format) + ", this program makes " +
                           std::to_string(tree_head::current_format) + "; make the root anew");
}

void merkle_tree::update(std::vector<leaf_change> changes, helpers* helping) {
    std::ranges::sort(changes, {}, &leaf_change::key);
    const std::int64_t revision = state_.revision();
    tree_update made(nodes_, changes, helping);
    session all = state_.start_session();
    nodes_.reserve(made.needed());
    nodes_.apply([&] {
        made.write(nodes_);
        tree_head head = nodes_.head();
        head.revision = revision;
        nodes_.write_head(head);
    });
    all.squash();
}

void merkle_tree::clear() {
    nodes_.clear();
}

void merkle_tree::note_revision() {
    const std::int64_t revision = state_.revision();
    nodes_.apply([&] {
        tree_head head = nodes_.head();
        head.revision = revision;
        nodes_.write_head(head);
    });
}

std::optional<child> merkle_tree::find(const sha256_digest& key) const {
    std::optional<node_ref> at = nodes_.root();
    tree_hash hash;
    for (unsigned level = 0; at; ++level) {
        const node_view node = nodes_.view(*at);
        const unsigned branch = digit(key, level);
        if (!node.has(branch)) return std::nullopt;
        const child found = node.at_digit(branch);
        if (found.is_leaf) {
            if (hash.key(nodes_.type_name(found.type), found.reference) != key) return std::nullopt;
            return found;
        }
        at = node_ref(found.reference);
    }
    return std::nullopt;
}

tree_shape merkle_tree::shape() const {
    tree_shape found;
    std::vector<std::pair<node_ref, unsigned>> waiting;
    if (const auto root = nodes_.root()) waiting.emplace_back(*root, 1u);
    while (!waiting.empty()) {
        const auto [at, level] = waiting.back();
        waiting.pop_back();
        const node_view node = nodes_.view(at);
        ++found.nodes_by_children[node.size()];
        ++found.nodes_by_capacity[at.capacity_class()];
        found.levels = std::max(found.levels, level);
        found.leaves += static_cast<std::uint64_t>(std::popcount(node.leaves()));
        for (unsigned digit = 0; digit < branches_per_node; ++digit)
            if (node.has(digit) && !node.is_leaf(digit))
                waiting.emplace_back(node_ref(node.at_digit(digit).reference), level + 1);
    }
    for (unsigned number = 0; number < capacities.size(); ++number)
        found.free_by_capacity[number] = nodes_.free(number);
    return found;
}

} // namespace chainbase::state_root
