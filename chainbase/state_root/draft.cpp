#include <chainbase/state_root/draft.hpp>

#include <boost/container/static_vector.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <string>

namespace chainbase::state_root {

namespace {

using changed_children =
    boost::container::static_vector<node_draft::changed_child, branches_per_node>;

child leaf_of(const leaf_change& change) {
    return {change.leaf, change.id, change.type, true};
}

void put(node_draft& draft, const node_draft::changed_child& one) {
    const auto bit = static_cast<std::uint16_t>(1u << one.digit);
    const auto set = [&](std::uint16_t& mask, bool on) {
        mask = static_cast<std::uint16_t>(on ? mask | bit : mask & ~bit);
    };
    set(draft.branches, one.now.exists);
    set(draft.leaves, one.now.exists && one.now.entry.is_leaf);
}

bool gives_way(const node_draft& draft, unsigned level) {
    if (draft.branches == 0) return true;
    return level > 0 && std::has_single_bit(draft.branches) && draft.leaves != 0;
}

} // namespace

child_draft drafter::replace(const std::optional<child>& old, std::span<const leaf_change> changes,
                             unsigned level) {
    constexpr std::size_t least_ways = 4; // for fewer, prefetching costs more than it saves
    ahead_ = changes;
    ahead_from_.reset();
    if (old && !old->is_leaf && changes.size() >= least_ways)
        ahead_from_ = node_ref(old->reference);
    ahead_level_ = level;
    return replace_child(old, changes, level);
}

/// When the work passes the changes prefetched so far, prefetches the nodes on the paths to the
/// next group: the whole group descends together, so that memory latencies overlap (group
/// prefetching: Chen, Ailamaki, Gibbons and Mowry, ICDE 2004). No more than the processor's nearest
/// cache holds.
void drafter::look_ahead(const leaf_change* at) {
    constexpr std::size_t ways_in_group = 24;
    struct way {
        const leaf_change* to;
        node_ref at;
    };
    if (!ahead_from_ || ahead_.empty() || at < ahead_.data()) return;
    const auto group = ahead_.first(std::min(ahead_.size(), ways_in_group));
    ahead_ = ahead_.subspan(group.size());
    boost::container::static_vector<way, ways_in_group> ways;
    for (const leaf_change& one : group)
        ways.push_back({&one, *ahead_from_});
    for (unsigned level = ahead_level_; !ways.empty() && level < max_levels; ++level) {
        std::size_t kept = 0;
        for (const way& one : ways) {
            const node_view node = tree_.node_at(one.at, level);
            const unsigned branch = digit(one.to->key, level);
            if (!node.has(branch) || node.is_leaf(branch)) continue;
            const node_ref next(node.reference(node.place_of(branch)));
            tree_.view(next).prefetch();
            ways[kept++] = {one.to, next};
        }
        ways.resize(kept);
    }
}

child_draft drafter::replace_child(const std::optional<child>& old,
                                   std::span<const leaf_change> changes, unsigned level) {
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
    look_ahead(changes.data());
    const node_view node = tree_.node_at(old, level);
    changed_children changed;
    each_digit(changes, level, [&](unsigned digit, std::span<const leaf_change> below) {
        std::optional<child> before;
        if (node.has(digit)) before = node.at_digit(digit);
        const child_draft now = replace_child(before, below, level + 1);
        if (!now.is_same_as(before)) changed.push_back({digit, now});
    });
    return assemble(old, changed, level);
}

child_draft drafter::replace_leaf(const child& old, std::span<const leaf_change> changes,
                                  unsigned level) {
    const auto is_same_object = [&](const leaf_change& one) {
        return one.id == old.reference && one.type == old.type;
    };
    if (changes.size() == 1 && is_same_object(changes.front())) { // as nearly always
        if (changes.front().exists) return {true, leaf_of(changes.front()), nullptr};
        --added_;
        return {};
    }
    std::vector<leaf_change> all;
    std::ranges::copy_if(changes, std::back_inserter(all), &leaf_change::exists);
    if (std::ranges::none_of(changes, is_same_object)) {
        const sha256_digest key = hash_.key(tree_.type_name(old.type), old.reference);
        if (!begin_alike(key, changes.front().key, level))
            tree_.damaged(std::string(tree_.type_name(old.type)) + " " +
                          std::to_string(old.reference) +
                          " has a leaf where its key does not lead");
        all.insert(std::ranges::upper_bound(all, key, {}, &leaf_change::key),
                   {key, old.digest, old.reference, old.type, true});
    }
    added_ += static_cast<std::int64_t>(all.size()) - 1;
    return build(all, level);
}

child_draft drafter::build(std::span<const leaf_change> leaves, unsigned level) {
    if (leaves.empty()) return {};
    if (leaves.size() == 1 && level > 0) return {true, leaf_of(leaves.front()), nullptr};
    if (level >= max_levels)
        tree_.damaged("two types have the same name, or two objects the same key");
    changed_children children;
    each_digit(leaves, level, [&](unsigned digit, std::span<const leaf_change> below) {
        children.push_back({digit, build(below, level + 1)});
    });
    return assemble(std::nullopt, children, level);
}

child_draft drafter::assemble(std::optional<node_ref> old, std::span<const changed_child> children,
                              unsigned level) {
    node_draft draft;
    if (old) {
        draft.old = old;
        draft.was = tree_.node_at(*old, level);
        draft.branches = draft.was.branches();
        draft.leaves = draft.was.leaves();
    }
    for (const changed_child& one : children)
        put(draft, one);
    if (gives_way(draft, level)) return collapse(draft, children);
    draft.changed = keep(children);
    child_draft made{true, {}, nullptr};
    make_digest(made, draft);
    if (old && children.empty()) { // nothing changed, which the caller detects
        made.entry.reference = old->bits();
        return made;
    }
    if (!draft.stays()) ++needed_[draft.capacity_class()];
    made.node = std::pmr::polymorphic_allocator<>(&memory_).new_object<node_draft>(draft);
    return made;
}

/// Collapses a node to its one remaining leaf, or to nothing.
child_draft drafter::collapse(const node_draft& draft, std::span<const changed_child> children) {
    if (draft.old) gone_.push_back(*draft.old);
    if (draft.branches == 0) return {};
    for (const changed_child& one : children)
        if (one.now.exists) return one.now;
    const auto digit = static_cast<unsigned>(std::countr_zero(draft.branches));
    return {true, draft.was.at_digit(digit), nullptr};
}

std::span<drafter::changed_child> drafter::keep(std::span<const changed_child> children) {
    std::pmr::polymorphic_allocator<> allocator(&memory_);
    auto* const kept = allocator.allocate_object<changed_child>(children.size());
    std::uninitialized_copy(children.begin(), children.end(), kept);
    return {kept, children.size()};
}

void drafter::make_digest(child_draft& made, node_draft& draft) {
    if (!tree_hash::is_grouped(draft.branches)) {
        made.entry.digest = hash_.node(draft.branches, digests_of(draft, 0, branches_per_node));
        return;
    }
    const auto groups = groups_of(draft);
    boost::container::static_vector<sha256_digest, groups_per_node> parts;
    for (unsigned number = 0; number < groups_per_node; ++number)
        if (tree_hash::group_of(draft.branches, number) != 0) parts.push_back(groups[number]);
    made.entry.digest = hash_.node_of_parts(draft.branches, parts);
    if (capacities[draft.capacity_class()] != branches_per_node) return;
    std::pmr::polymorphic_allocator<> allocator(&memory_);
    draft.groups = allocator.new_object<std::array<sha256_digest, groups_per_node>>(groups);
}

/// Groups without a change keep their digest, if the node keeps them.
std::array<sha256_digest, groups_per_node> drafter::groups_of(const node_draft& draft) {
    std::array<sha256_digest, groups_per_node> groups{};
    unsigned changed = 0; // groups
    for (const changed_child& one : draft.changed)
        changed |= 1u << one.digit / 4;
    const bool are_kept = draft.old && draft.was.keeps_groups();
    for (unsigned number = 0; number < groups_per_node; ++number) {
        if (tree_hash::group_of(draft.branches, number) == 0) continue;
        groups[number] = are_kept && (changed >> number & 1) == 0
                             ? draft.was.group(number)
                             : hash_.group(digests_of(draft, 4 * number, 4 * number + 4));
    }
    return groups;
}

/// Of the children at digits from `begin` on, below `end`.
drafter::digests drafter::digests_of(const node_draft& draft, unsigned begin, unsigned end) const {
    digests found;
    auto changed = std::ranges::lower_bound(draft.changed, begin, {}, &changed_child::digit);
    for (unsigned digit = begin; digit < end; ++digit) {
        const bool is_changed = changed != draft.changed.end() && changed->digit == digit;
        if (draft.branches >> digit & 1) {
            if (is_changed) {
                found.push_back(changed->now.entry.digest);
            } else {
                found.push_back(draft.was.digest(draft.was.place_of(digit)));
            }
        }
        if (is_changed) ++changed;
    }
    return found;
}

} // namespace chainbase::state_root
