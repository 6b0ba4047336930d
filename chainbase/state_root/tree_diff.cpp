#include <chainbase/state_root/tree_diff.hpp>
#include <chainbase/state_root/tree_hash.hpp>

#include <array>
#include <compare>
#include <optional>

namespace chainbase::state_root {

namespace {

/// One of the two trees.
class side {
public:
    explicit side(const node_source& tree) : nodes_(tree), walked_(tree) {}

    [[nodiscard]] std::optional<child> root() const {
        if (const auto root = nodes_.root())
            return child{nodes_.head().digest, root->bits(), 0, false};
        return std::nullopt;
    }
    [[nodiscard]] node_view node_of(const child& at, unsigned level) {
        walked_.count();
        return nodes_.node_at(node_ref(at.reference), level);
    }
    [[nodiscard]] std::string_view type_of(const child& leaf) const {
        return nodes_.type_name(leaf.type);
    }
    [[nodiscard]] sha256_digest key_of(const child& leaf) {
        return hash_.key(type_of(leaf), leaf.reference);
    }

private:
    const node_source& nodes_;
    walked_nodes walked_;
    tree_hash hash_;
};

using place = std::optional<child>;

/// What one side has in a place of `level`, by the digits below it: a node its children, a leaf
/// itself, where its key leads. Copies: a source need not keep a node when it is asked for others.
std::array<place, branches_per_node> children_of(side& of, const place& at, unsigned level) {
    std::array<place, branches_per_node> children;
    if (!at) return children;
    if (at->is_leaf) {
        if (level < max_levels) // else the other side has a node here, which it tells is damaged
            children[digit(of.key_of(*at), level)] = at;
        return children;
    }
    const node_view node = of.node_of(*at, level);
    for (unsigned digit = 0; digit < branches_per_node; ++digit)
        if (node.has(digit)) children[digit] = node.at_digit(digit);
    return children;
}

/// Goes down both trees at once, in the order of the keys, and keeps nothing but the way there.
class comparison {
public:
    comparison(const node_source& first, const node_source& second,
               const std::function<void(const difference&)>& visit)
        : first_(first), second_(second), visit_(visit) {}

    void run() { compare(first_.root(), second_.root(), 0); }

private:
    void compare(const place& first, const place& second, unsigned level) {
        if (first && second && first->digest == second->digest && first->is_leaf == second->is_leaf)
            return;
        const auto is_node = [](const place& one) { return one && !one->is_leaf; };
        if (!is_node(first) && !is_node(second)) return compare_leaves(first, second);
        const auto of_first = children_of(first_, first, level);
        const auto of_second = children_of(second_, second, level);
        for (unsigned digit = 0; digit < branches_per_node; ++digit)
            if (of_first[digit] || of_second[digit])
                compare(of_first[digit], of_second[digit], level + 1);
    }

    /// Of which one may be missing.
    void compare_leaves(const place& first, const place& second) {
        if (!first) return visit(second_, *second, false, true);
        if (!second) return visit(first_, *first, true, false);
        const auto order = first_.key_of(*first) <=> second_.key_of(*second);
        if (order == 0) return visit(first_, *first, true, true);
        if (order < 0) visit(first_, *first, true, false);
        visit(second_, *second, false, true);
        if (order > 0) visit(first_, *first, true, false);
    }

    void visit(const side& of, const child& leaf, bool in_first, bool in_second) const {
        visit_({of.type_of(leaf), leaf.reference, in_first, in_second});
    }

    side first_;
    side second_;
    const std::function<void(const difference&)>& visit_;
};

} // namespace

void diff(const node_source& first, const node_source& second,
          const std::function<void(const difference&)>& visit) {
    comparison(first, second, visit).run();
}

} // namespace chainbase::state_root
