#include <chainbase/rows/mapped_bytes.hpp>
#include <tools/inspect/root/node_check.hpp>
#include <tools/inspect/rows/ordered_chunks.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <span>
#include <string>
#include <utility>

namespace chainbase::inspect {

namespace {

using state_root::branches_per_node;
using state_root::capacities;
using state_root::child;
using state_root::groups_per_node;
using state_root::node_ref;
using state_root::node_view;
using state_root::tree_hash;

root_fault of_node(node_ref at, std::string text) {
    return {root_fault::kind::node,
            node_type(at.capacity_class()),
            at.number(),
            std::move(text),
            false,
            {}};
}

root_fault of_tree(std::string text) {
    return {
        root_fault::kind::tree, state_root::tree_head::type_name, 0, std::move(text), false, {}};
}

/// Of the children in `count` places from `first` on.
std::span<const sha256_digest> digests(const node_view& node, unsigned first, unsigned count) {
    return {&node.digest(first), count};
}

sha256_digest digest_of(tree_hash& hash, const node_view& node) {
    return hash.node(node.branches(), digests(node, 0, node.size()));
}

} // namespace

/// What was found in a range of nodes.
struct node_check::piece {
    piece(unsigned capacity_class, std::uint64_t limit)
        : capacity_class(capacity_class), faults(limit) {}

    unsigned capacity_class;
    tree_hash hash;
    root_faults faults;
    std::uint64_t nodes = 0;
    std::uint64_t leaves = 0;
    std::uint64_t free = 0;
};

void node_check::run(unsigned threads, root_faults& to) {
    make_sets();
    const std::vector<node_range> ranges = node_ranges(state_, nodes_in_a_turn);
    made_in_order(
        ranges.size(), threads,
        [&](std::size_t number) {
            piece one(ranges[number].capacity_class, to.limit());
            each_node(state_, ranges[number],
                      [&](const read_only_tree& tree, node_ref at, const node_view& node) {
                          check_node(tree, at, node, one);
                      });
            return one;
        },
        [&](piece&& one) {
            nodes_ += one.nodes;
            leaves_ += one.leaves;
            free_[one.capacity_class] += one.free;
            to.add(std::move(one.faults));
        });
    check_root(to);
    for (const node_range& range : ranges)
        check_parents(range, to);
    for (unsigned number = 0; number < capacities.size(); ++number)
        check_free_nodes(number, to);
}

void node_check::make_sets() {
    std::array<std::uint32_t, capacities.size()> ends{};
    state_.take_turn([&] {
        const read_only_tree tree(state_.source());
        for (unsigned number = 0; number < capacities.size(); ++number)
            ends[number] = tree.end(number);
    });
    for (const std::uint32_t end : ends) {
        has_parent_.emplace_back(end);
        is_free_.emplace_back(end);
    }
}

void node_check::check_node(const read_only_tree& tree, node_ref at, const node_view& node,
                            piece& to) {
    if (node.branches() == 0) {
        is_free_[at.capacity_class()].add(at.number());
        ++to.free;
        return;
    }
    ++to.nodes;
    if (node.size() > at.capacity())
        return to.faults.add(of_node(
            at, fmt::format("it has {} children, and room for {}", node.size(), at.capacity())));
    if ((node.leaves() & ~node.branches()) != 0)
        to.faults.add(of_node(at, "it has a leaf at a digit that has no child"));
    if (node.size() == 1 && node.leaves() != 0 && tree.root() != at)
        to.faults.add(of_node(at, "there is but one object below it, which needs no node"));
    if (node.keeps_groups()) check_groups(at, node, to);
    for (unsigned digit = 0; digit < branches_per_node; ++digit) {
        if (!node.has(digit)) continue;
        const child found = node.at_digit(digit);
        if (found.is_leaf)
            ++to.leaves;
        else
            check_child(tree, at, digit, found, to);
    }
}

void node_check::check_groups(node_ref at, const node_view& node, piece& to) {
    if (!tree_hash::is_grouped(node.branches())) return;
    unsigned place = 0;
    for (unsigned number = 0; number < groups_per_node; ++number) {
        const auto count =
            static_cast<unsigned>(std::popcount(tree_hash::group_of(node.branches(), number)));
        if (count != 0 && node.group(number) != to.hash.group(digests(node, place, count)))
            to.faults.add(of_node(
                at, fmt::format("the digest that it keeps of its digits {} to {} is not theirs",
                                4 * number, 4 * number + 3)));
        place += count;
    }
}

void node_check::check_child(const read_only_tree& tree, node_ref parent, unsigned digit,
                             const child& child, piece& to) {
    const node_ref at(child.reference);
    const auto node = tree.find(at);
    if (!node || node->branches() == 0 || node->size() > at.capacity())
        return to.faults.add(
            of_node(parent, fmt::format("at digit {} it leads to {}, {}", digit, name_of(at),
                                        !node                   ? "which there is not"
                                        : node->branches() == 0 ? "which is free"
                                                                : "which is damaged")));
    if (!has_parent_[at.capacity_class()].add(at.number()))
        to.faults.add(
            of_node(at, fmt::format("two nodes lead to it, one of them {}", name_of(parent))));
    if (digest_of(to.hash, *node) == child.digest) return;
    to.faults.add(of_node(at, fmt::format("its digest is not the one that its parent, {}, has at "
                                          "digit {}",
                                          name_of(parent), digit)));
    const std::lock_guard lock(mutex_);
    damaged_.insert(at.bits());
}

void node_check::check_root(root_faults& to) {
    state_.take_turn([&] {
        const read_only_tree tree(state_.source());
        const auto root = tree.root();
        if (tree.head().leaves != leaves_)
            to.add(of_tree(fmt::format("it says that the root commits to {} objects; the nodes "
                                       "have {}",
                                       tree.head().leaves, leaves_)));
        if (!root) {
            if (tree.head().digest != sha256_digest{})
                to.add(of_tree("its root is that of some objects, and it has no node"));
            return;
        }
        const auto node = tree.find(*root);
        if (!node || node->branches() == 0 || node->size() > root->capacity())
            return to.add(of_tree("it leads to " + name_of(*root) + ", which is no node of it"));
        if (!has_parent_[root->capacity_class()].add(root->number()))
            to.add(of_tree("another node leads to " + name_of(*root) + ", its first one"));
        tree_hash hash;
        if (digest_of(hash, *node) == tree.head().digest) return;
        to.add(of_tree("the root is not the digest of " + name_of(*root) + ", its first node"));
        damaged_.insert(root->bits());
    });
}

/// Nodes that nothing leads to.
void node_check::check_parents(node_range range, root_faults& to) {
    if (nodes_ == 0) return;
    each_node(state_, range, [&](const read_only_tree&, node_ref at, const node_view& node) {
        if (node.branches() != 0 && !has_parent_[at.capacity_class()].contains(at.number()))
            to.add(of_node(at, "no node leads to it"));
    });
}

/// The list of a capacity, from its head in the tree's to its end.
void node_check::check_free_nodes(unsigned capacity_class, root_faults& to) {
    std::uint32_t next = 0;
    state_.take_turn([&] { next = read_only_tree(state_.source()).head().free[capacity_class]; });
    std::uint64_t count = 0;
    bool is_whole = true;
    while (next != 0 && is_whole) {
        state_.take_turn([&] {
            using clock = std::chrono::steady_clock;
            const auto until = clock::now() + row_source::slice;
            const read_only_tree tree(state_.source());
            while (next != 0 && is_whole && clock::now() < until) {
                const std::uint32_t number = next - 1;
                is_whole =
                    count < free_[capacity_class] && is_free_[capacity_class].contains(number);
                if (!is_whole) break;
                next = tree.find(node_ref::make(number, capacity_class))->reference(0);
                ++count;
            }
        });
    }
    if (!is_whole)
        to.add(of_tree(fmt::format("its list of free nodes of {} children leads to {}, which is "
                                   "not free, or is in it twice",
                                   capacities[capacity_class],
                                   name_of(node_ref::make(next - 1, capacity_class)))));
    else if (count != free_[capacity_class])
        to.add(of_tree(fmt::format("its list of free nodes of {} children has {} of {}",
                                   capacities[capacity_class], count, free_[capacity_class])));
}

} // namespace chainbase::inspect
