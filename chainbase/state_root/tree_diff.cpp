#include <chainbase/state_root/tree_diff.hpp>
#include <chainbase/state_root/tree_hash.hpp>

#include <map>
#include <optional>
#include <tuple>

namespace chainbase::state_root {

namespace {

/// One of the two trees.
class side {
public:
    explicit side(const node_source& tree) : nodes_(tree) {}

    [[nodiscard]] std::optional<child> root() const {
        if (const auto root = nodes_.root())
            return child{nodes_.head().digest, root->bits(), 0, false};
        return std::nullopt;
    }
    /// The child of a node of `level` at `digit`.
    [[nodiscard]] std::optional<child> below(const child& node, unsigned level,
                                             unsigned digit) const {
        const node_view at = nodes_.node_at(node_ref(node.reference), level);
        if (!at.has(digit)) return std::nullopt;
        return at.at_digit(digit);
    }
    [[nodiscard]] std::string_view type_of(const child& leaf) const {
        return nodes_.type_name(leaf.type);
    }
    [[nodiscard]] sha256_digest key_of(const child& leaf) {
        return hash_.key(type_of(leaf), leaf.reference);
    }
    /// Calls visit(leaf) for all leaves below, in the order of their keys.
    template <typename Visitor>
    void each_leaf(const child& at, unsigned level, const Visitor& visit) const {
        if (at.is_leaf) return visit(at);
        for (unsigned digit = 0; digit < branches_per_node; ++digit)
            if (const auto one = below(at, level, digit)) each_leaf(*one, level + 1, visit);
    }

private:
    const node_source& nodes_;
    tree_hash hash_;
};

class comparison {
public:
    comparison(const node_source& first, const node_source& second,
               const std::function<void(const difference&)>& visit)
        : first_(first), second_(second), visit_(visit) {}

    void run() { compare(first_.root(), second_.root(), 0); }

private:
    using place = std::optional<child>;

    /// What is at `level` of both.
    void compare(const place& first, const place& second, unsigned level) {
        if (first && second && first->digest == second->digest && first->is_leaf == second->is_leaf)
            return;
        const bool both_are_nodes = first && second && !first->is_leaf && !second->is_leaf;
        if (!both_are_nodes) return compare_leaves(first, second, level);
        for (unsigned digit = 0; digit < branches_per_node; ++digit) {
            const place a = first_.below(*first, level, digit);
            const place b = second_.below(*second, level, digit);
            if (a || b) compare(a, b, level + 1);
        }
    }

    /// Where one side has at most one leaf.
    void compare_leaves(const place& first, const place& second, unsigned level) {
        std::map<sha256_digest, std::pair<place, place>> all;
        if (first)
            first_.each_leaf(*first, level,
                             [&](const child& one) { all[first_.key_of(one)].first = one; });
        if (second)
            second_.each_leaf(*second, level,
                              [&](const child& one) { all[second_.key_of(one)].second = one; });
        for (const auto& [key, leaf] : all) {
            const auto& [a, b] = leaf;
            if (a && b && a->digest == b->digest) continue;
            const std::string_view type = a ? first_.type_of(*a) : second_.type_of(*b);
            visit_({type, a ? a->reference : b->reference, a.has_value(), b.has_value()});
        }
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
