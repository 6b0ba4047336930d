#include <chainbase/state_root/draft.hpp>

#include <boost/container/static_vector.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>

namespace chainbase::state_root {

namespace {

using changed_children =
    boost::container::static_vector<node_draft::changed_child, branches_per_node>;

child leaf_of(const leaf_change& change) {
    return {change.leaf, change.id, change.type, true};
}

bool is_same(const child_draft& now, const std::optional<child>& old) {
    if (now.exists != old.has_value()) return false;
    if (!old) return true;
    return now.node == nullptr && now.entry.is_leaf == old->is_leaf &&
           now.entry.digest == old->digest;
}

/// Calls visit(digit, those that have it there) for each digit of `level` that any have.
template <typename Visitor>
void each_digit(std::span<const leaf_change> changes, unsigned level, Visitor&& visit) {
    while (!changes.empty()) {
        const unsigned here = digit(changes.front().key, level);
        const auto end = std::ranges::find_if(
            changes, [&](const leaf_change& one) { return digit(one.key, level) != here; });
        const auto count = static_cast<std::size_t>(end - changes.begin());
        visit(here, changes.first(count));
        changes = changes.subspan(count);
    }
}

} // namespace

child_draft drafter::replace(const std::optional<child>& old, std::span<const leaf_change> changes,
                             unsigned level) {
    assert(level <= max_levels);
    if (!old) return add(changes, level);
    return old->is_leaf ? replace_leaf(*old, changes, level)
                        : replace_node(node_ref(old->reference), changes, level);
}

child_draft drafter::add(std::span<const leaf_change> changes, unsigned level) {
    std::vector<leaf_change> made;
    if (!std::ranges::all_of(changes, &leaf_change::exists)) {
        std::ranges::copy_if(changes, std::back_inserter(made), &leaf_change::exists);
        changes = made;
    }
    added_ += static_cast<std::int64_t>(changes.size());
    return build(changes, level);
}

child_draft drafter::replace_node(node_ref old, std::span<const leaf_change> changes,
                                  unsigned level) {
    const node_view node = tree_.view(old);
    changed_children changed;
    each_digit(changes, level, [&](unsigned digit, std::span<const leaf_change> below) {
        std::optional<child> before;
        if (node.has(digit)) before = node.at_digit(digit);
        const child_draft now = replace(before, below, level + 1);
        if (!is_same(now, before)) changed.push_back({digit, now});
    });
    return assemble(old, changed, level);
}

child_draft drafter::replace_leaf(const child& old, std::span<const leaf_change> changes,
                                  unsigned level) {
    const sha256_digest key = hash_.key(tree_.type_name(old.type), old.reference);
    std::vector<leaf_change> all;
    bool is_replaced = false;
    for (const leaf_change& one : changes) {
        is_replaced = is_replaced || one.key == key;
        if (one.exists) all.push_back(one);
    }
    if (!is_replaced)
        all.insert(std::ranges::upper_bound(all, key, {}, &leaf_change::key),
                   {key, old.digest, old.reference, old.type, true});
    added_ += static_cast<std::int64_t>(all.size()) - 1;
    return build(all, level);
}

child_draft drafter::build(std::span<const leaf_change> leaves, unsigned level) {
    if (leaves.empty()) return {};
    if (leaves.size() == 1 && level > 0) return {true, leaf_of(leaves.front()), nullptr};
    changed_children children;
    each_digit(leaves, level, [&](unsigned digit, std::span<const leaf_change> below) {
        children.push_back({digit, build(below, level + 1)});
    });
    return assemble(std::nullopt, children, level);
}

child_draft drafter::assemble(std::optional<node_ref> old, std::span<const changed_child> children,
                              unsigned level) {
    node_draft draft{old, 0, 0, {}};
    if (old) {
        draft.branches = tree_.view(*old).branches();
        draft.leaves = tree_.view(*old).leaves();
    }
    for (const changed_child& one : children) {
        const auto bit = static_cast<std::uint16_t>(1u << one.digit);
        const auto put = [&](std::uint16_t& mask, bool set) {
            mask = static_cast<std::uint16_t>(set ? mask | bit : mask & ~bit);
        };
        put(draft.branches, one.now.exists);
        put(draft.leaves, one.now.exists && one.now.entry.is_leaf);
    }
    const bool gives_way = draft.branches == 0 ||
                           (level > 0 && std::has_single_bit(draft.branches) && draft.leaves != 0);
    if (gives_way) {
        if (old) gone_.push_back(*old);
        if (draft.branches == 0) return {};
        for (const changed_child& one : children)
            if (one.now.exists) return one.now;
        const auto digit = static_cast<unsigned>(std::countr_zero(draft.branches));
        return {true, tree_.view(*old).at_digit(digit), nullptr};
    }
    std::pmr::polymorphic_allocator<> allocator(&memory_);
    auto* const kept = allocator.allocate_object<changed_child>(children.size());
    std::uninitialized_copy(children.begin(), children.end(), kept);
    draft.changed = {kept, children.size()};
    child_draft made{true, {}, nullptr};
    if (old && children.empty()) { // all is as it was, but that is for the caller to see
        made.entry = {digest_of(draft), old->bits(), 0, false};
        return made;
    }
    made.entry.digest = digest_of(draft);
    made.node = allocator.new_object<node_draft>(draft);
    return made;
}

sha256_digest drafter::digest_of(const node_draft& draft) {
    boost::container::static_vector<sha256_digest, branches_per_node> digests;
    auto changed = draft.changed.begin();
    for (unsigned digit = 0; digit < branches_per_node; ++digit) {
        const bool is_changed = changed != draft.changed.end() && changed->digit == digit;
        if (draft.branches >> digit & 1)
            digests.push_back(is_changed ? changed->now.entry.digest
                                         : tree_.view(*draft.old).at_digit(digit).digest);
        if (is_changed) ++changed;
    }
    return hash_.node(draft.branches, digests);
}

} // namespace chainbase::state_root
