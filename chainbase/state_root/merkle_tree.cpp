#include <chainbase/segment/segment.hpp>
#include <chainbase/state_root/draft.hpp>
#include <chainbase/state_root/merkle_tree.hpp>
#include <chainbase/state_root/tree_hash.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/thread_pool.hpp>

#include <boost/container/static_vector.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::state_root {

/// An update of many objects: first computed, in all branches of the root in parallel, then
/// written.
class tree_update {
public:
    /// Computes the changes. `changes` are in the order of their keys, without duplicates, and must
    /// outlive this object; the tree must not change until write(). `pool` may be null. Throws what
    /// drafter::replace throws.
    tree_update(const node_store& tree, std::span<const leaf_change> changes, thread_pool* pool);
    ~tree_update();
    tree_update(const tree_update&) = delete;
    tree_update& operator=(const tree_update&) = delete;

    /// The nodes that write() takes, by capacity.
    [[nodiscard]] const std::array<std::uint32_t, capacities.size()>& needed() const noexcept {
        return needed_;
    }
    /// Writes the nodes and the head. Within node_store::apply, after
    /// node_store::reserve(needed()).
    void write(node_store& tree);

private:
    struct branch;

    void divide(std::span<const leaf_change> changes);
    void assemble_root();
    node_ref write(node_store& tree, const node_draft& draft);

    const node_store& tree_;
    std::vector<std::unique_ptr<branch>> branches_;
    std::pmr::monotonic_buffer_resource memory_;
    drafter making_;
    child_draft root_;
    std::array<std::uint32_t, capacities.size()> needed_{};
};

namespace {

/// Below this many changes threads would wait for each other longer than they work.
constexpr std::size_t worth_sharing = 64;

template <typename T>
using one_per_branch = boost::container::static_vector<T, branches_per_node>;

/// Whether only digests differ from the old node.
bool has_same_children(const node_draft& draft) {
    const node_view& old = draft.was;
    if (old.branches() != draft.branches || old.leaves() != draft.leaves) return false;
    return std::ranges::all_of(draft.changed, [&](const node_draft::changed_child& one) {
        const unsigned place = old.place_of(one.digit);
        return one.now.entry.reference == old.reference(place) &&
               one.now.entry.type == old.type(place);
    });
}

one_per_branch<child> children_of(const node_draft& draft) {
    one_per_branch<child> all;
    auto changed = draft.changed.begin();
    for (unsigned digit = 0; digit < branches_per_node; ++digit) {
        const bool is_changed = changed != draft.changed.end() && changed->digit == digit;
        if (draft.branches >> digit & 1)
            all.push_back(is_changed ? changed->now.entry : draft.was.at_digit(digit));
        if (is_changed) ++changed;
    }
    return all;
}

} // namespace

/// The changes below one branch of the root, and memory for their drafts.
struct tree_update::branch {
    branch(const node_store& tree, unsigned number, std::span<const leaf_change> below)
        : digit(number), changes(below), making(tree, memory) {
        const auto root = tree.root();
        if (!root) return;
        const node_view node = tree.node_at(*root, 0);
        if (node.has(digit)) old = node.at_digit(digit);
    }

    unsigned digit;
    std::span<const leaf_change> changes;
    std::optional<child> old;
    std::pmr::monotonic_buffer_resource memory;
    drafter making;
    child_draft now;
};

tree_update::tree_update(const node_store& tree, std::span<const leaf_change> changes,
                         thread_pool* pool)
    : tree_(tree), making_(tree, memory_) {
    divide(changes);
    const auto make = [&](std::size_t number) {
        branch& one = *branches_[number];
        one.now = one.making.replace(one.old, one.changes, 1);
    };
    if (pool && changes.size() >= worth_sharing)
        pool->run(branches_.size(), make);
    else
        for (std::size_t number = 0; number < branches_.size(); ++number)
            make(number);
    assemble_root();
    needed_ = making_.needed();
    for (const auto& one : branches_)
        for (unsigned number = 0; number < capacities.size(); ++number)
            needed_[number] += one->making.needed()[number];
}

tree_update::~tree_update() = default;

void tree_update::divide(std::span<const leaf_change> changes) {
    each_digit(changes, 0, [&](unsigned digit, std::span<const leaf_change> below) {
        branches_.push_back(std::make_unique<branch>(tree_, digit, below));
    });
}

void tree_update::assemble_root() {
    one_per_branch<node_draft::changed_child> changed;
    for (const auto& one : branches_)
        if (!one->now.is_same_as(one->old)) changed.push_back({one->digit, one->now});
    const std::optional<node_ref> old = tree_.root();
    if (old || !changed.empty()) root_ = making_.assemble(old, changed, 0);
}

void tree_update::write(node_store& tree) {
    std::optional<node_ref> root;
    if (root_.node)
        root = write(tree, *root_.node);
    else if (root_.exists)
        root = tree.root();
    std::int64_t added = 0;
    for (const auto& one : branches_) {
        added += one->making.added();
        for (const node_ref gone : one->making.gone())
            tree.free(gone);
    }
    for (const node_ref gone : making_.gone())
        tree.free(gone);
    tree_head head = tree.head();
    head.leaves += static_cast<std::uint64_t>(added);
    head.digest = root_.exists ? root_.entry.digest : sha256_digest{};
    head.has_root = root ? 1 : 0;
    head.root = root ? root->bits() : 0;
    tree.write_head(head);
}

/// Writes children before their node, which refers to them.
node_ref tree_update::write(node_store& tree, const node_draft& draft) {
    for (node_draft::changed_child& one : draft.changed)
        if (one.now.node) one.now.entry.reference = write(tree, *one.now.node).bits();
    if (draft.stays() && has_same_children(draft)) {
        for (const node_draft::changed_child& one : draft.changed)
            tree.write_digest(draft.was, one.digit, one.now.entry.digest);
        if (draft.groups) tree.write_groups(draft.was, *draft.groups);
        return *draft.old;
    }
    const auto children = children_of(draft);
    const node_content content{draft.branches, draft.leaves, children, draft.groups};
    if (draft.stays()) {
        tree.write(*draft.old, content);
        return *draft.old;
    }
    const node_ref made = tree.take(draft.capacity_class());
    tree.write(made, content);
    if (draft.old) tree.free(*draft.old);
    return made;
}

void merkle_tree::update(std::vector<leaf_change> changes, thread_pool* pool) {
    if (!is_of_this_format())
        throw format_error(state_.state() + ": the state root has format " +
                           std::to_string(nodes_.head().format) + ", this program makes " +
                           std::to_string(tree_head::current_format) + "; make the root anew");
    std::ranges::sort(changes, {}, &leaf_change::key);
    const std::int64_t revision = state_.revision();
    tree_update made(nodes_, changes, pool);
    session all = state_.start_session();
    nodes_.make_head();
    nodes_.reserve(made.needed());
    nodes_.apply([&] {
        made.write(nodes_);
        tree_head head = nodes_.head();
        head.revision = revision;
        nodes_.write_head(head);
    });
    all.squash();
}

void merkle_tree::reset(const std::set<std::string>& types) {
    session all = state_.start_session();
    if (types.empty())
        nodes_.clear(); // there will be no tree for a long time
    else
        nodes_.reset();
    nodes_.set_types(types);
    all.squash();
}

void merkle_tree::note_revision(std::int64_t revision) {
    nodes_.make_head();
    nodes_.apply([&] {
        tree_head head = nodes_.head();
        head.revision = revision;
        nodes_.write_head(head);
    });
}

namespace {

sha256_digest digest_of(std::span<const whole_leaf> leaves, unsigned level, tree_hash& hash) {
    if (leaves.size() == 1 && level > 0) return leaves.front().leaf;
    std::uint16_t branches = 0;
    std::vector<sha256_digest> children;
    each_digit(leaves, level, [&](unsigned digit, std::span<const whole_leaf> below) {
        branches = static_cast<std::uint16_t>(branches | 1u << digit);
        children.push_back(digest_of(below, level + 1, hash));
    });
    return hash.node(branches, children);
}

} // namespace

sha256_digest root_of(std::vector<whole_leaf> leaves) {
    if (leaves.empty()) return {};
    std::ranges::sort(leaves, {}, &whole_leaf::key);
    tree_hash hash;
    return digest_of(leaves, 0, hash);
}

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

/// The children of one side at `level` by digit: those of a node, or a leaf at the digit of its
/// key. Copied, since a source need not keep a node when others are read.
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

/// Descends both trees at once, in the order of the keys, keeping only the current path.
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
