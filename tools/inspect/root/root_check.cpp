#include <chainbase/object/mapped_bytes.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/root/root_check.hpp>
#include <tools/inspect/rows/ordered_chunks.hpp>
#include <tools/progress.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
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
    return {root_fault::kind::node, node_type(at.capacity_class()), at.number(), std::move(text)};
}

root_fault of_tree(std::string text) {
    return {root_fault::kind::tree, state_root::tree_head::type_name, 0, std::move(text)};
}

/// The digests of `count` children, starting at `first`.
std::span<const sha256_digest> digests(const node_view& node, unsigned first, unsigned count) {
    return {&node.digest(first), count};
}

sha256_digest digest_of(tree_hash& hash, const node_view& node) {
    return hash.node(node.branches(), digests(node, 0, node.size()));
}

} // namespace

/// The result for a range of nodes.
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
    progress shown("checking the nodes", "pieces");
    std::size_t done = 0;
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
            shown.show(++done, ranges.size());
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
        to.faults.add(of_node(at, "there is only one object below it, which needs no node"));
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
                at, fmt::format("the digest that it keeps of its digits {} to {} does not match "
                                "them",
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
                                        !node                   ? "which does not exist"
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
                to.add(of_tree("its root is not that of an empty tree, but it has no node"));
            return;
        }
        const auto node = tree.find(*root);
        if (!node || node->branches() == 0 || node->size() > root->capacity())
            return to.add(
                of_tree("it leads to " + name_of(*root) + ", which is not one of its nodes"));
        if (!has_parent_[root->capacity_class()].add(root->number()))
            to.add(of_tree("another node leads to " + name_of(*root) + ", its first one"));
        tree_hash hash;
        if (digest_of(hash, *node) == tree.head().digest) return;
        to.add(of_tree("the root is not the digest of " + name_of(*root) + ", its first node"));
        damaged_.insert(root->bits());
    });
}

/// Finds nodes without a parent.
void node_check::check_parents(node_range range, root_faults& to) {
    if (nodes_ == 0) return;
    each_node(state_, range, [&](const read_only_tree&, node_ref at, const node_view& node) {
        if (node.branches() != 0 && !has_parent_[at.capacity_class()].contains(at.number()))
            to.add(of_node(at, "no node leads to it"));
    });
}

/// Walks the free list of a capacity from its head in the tree object.
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
                const auto node = tree.find(node_ref::make(number, capacity_class));
                if (!(is_whole = node.has_value())) break;
                next = node->reference(0);
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

/// An object whose leaf is to be found.
struct wanted_leaf {
    sha256_digest key; ///< tree_hash::key
    std::uint16_t type = 0;
    std::uint32_t id = 0;
};

/// The position of a leaf.
struct found_leaf {
    state_root::node_ref node;
    sha256_digest digest;
};

namespace {

/// A descent to a leaf.
struct walk {
    std::size_t number; ///< index in the list of wanted leaves
    node_ref at;
    std::optional<node_view> node = std::nullopt;
};

/// Descends one level; false: there is no node.
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

using kind = root_fault::kind;

constexpr std::uint32_t ids_at_once = 4096;

/// Whether an object is in memory, or the table that would tell is damaged.
bool may_have(const rows::slot_reader& slots, std::uint32_t id) {
    try {
        return slots.slot_of(id) != 0;
    } catch (const damaged_error&) {
        return true;
    }
}

/// The leaves of some objects at the places of their keys, in order; nothing where there is none.
/// As state_root::find_leaf, but for a tree that may be damaged, and for all at once, level by
/// level, so that the cache misses overlap. Call it in a turn. Throws damaged_error when the table
/// of the nodes is damaged.
std::vector<std::optional<found_leaf>> find_leaves(const read_only_tree& tree,
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

} // namespace

struct object_check::type {
    std::uint16_t number;
    const std::string& name;
    type_records& records;
    id_set& there;
};

struct object_check::object {
    bool is_archived;
    sha256_digest leaf;
};

/// The result for a range of ids.
struct object_check::piece {
    explicit piece(std::uint64_t limit) : faults(limit) {}

    tree_hash hash;
    root_faults faults;
    std::vector<wanted_leaf> wanted;     ///< for the objects read
    std::vector<object> objects;         ///< the objects read
    std::vector<wanted_leaf> unreadable; ///< ids that may or may not have an object
    std::vector<std::string> problems;   ///< their errors
    std::uint64_t objects_read = 0;
    std::uint64_t archived = 0;
    std::uint64_t found = 0;
};

void object_check::run(unsigned threads, root_faults& to) {
    state_.take_turn([&] { types_ = read_only_tree(state_.source()).types(); });
    for (const auto& [number, name] : types_) {
        bool is_there = false;
        state_.take_turn([&] { is_there = state_.source().has(name); });
        if (is_there) {
            check_type(number, name, threads, to);
            continue;
        }
        to.add({kind::tree, state_root::named_type::type_name, number,
                fmt::format("the root commits to objects of a type {}, which the state does not "
                            "have",
                            name)});
    }
    if (found_ != nodes_.leaves()) check_leaves(to);
}

void object_check::check_type(std::uint16_t number, const std::string& name, unsigned threads,
                              root_faults& to) {
    type_records records(state_, name, archive_, type_records::places::both);
    const std::uint32_t end = records.end();
    id_set& there = there_.try_emplace(number, end).first->second;
    leaves_.try_emplace(number, end);
    type of{number, name, records, there};
    const std::size_t count = (std::size_t{end} + ids_at_once - 1) / ids_at_once;
    progress shown("checking " + name, "pieces");
    std::size_t done = 0;
    made_in_order(
        count, threads,
        [&](std::size_t which) {
            const auto begin = static_cast<std::uint32_t>(which * ids_at_once);
            piece one(to.limit());
            read(of, begin, begin + std::min(ids_at_once, end - begin), one);
            look_up(of, one);
            look_up_unreadable(of, one);
            return one;
        },
        [&](piece&& one) {
            objects_ += one.objects_read;
            archived_ += one.archived;
            found_ += one.found;
            to.add(std::move(one.faults));
            shown.show(++done, count);
        });
}

void object_check::read(type& of, std::uint32_t begin, std::uint32_t end, piece& to) {
    to.wanted.reserve(end - begin);
    to.objects.reserve(end - begin);
    try {
        of.records.each(begin, end,
                        [&](const type_records::seen& one) { add_object(of, one, to); });
    } catch (const damaged_error&) {
        to.wanted.clear();
        to.objects.clear();
        read_one_by_one(of, begin, end, to);
    }
    to.objects_read += to.objects.size();
    for (const object& one : to.objects)
        to.archived += one.is_archived ? 1 : 0;
    for (const wanted_leaf& one : to.wanted)
        of.there.add(one.id);
}

void object_check::add_object(const type& of, const type_records::seen& one, piece& to) {
    const sha256_digest key = to.hash.key(of.name, one.id);
    to.wanted.push_back({key, of.number, one.id});
    to.objects.push_back({one.is_archived, to.hash.leaf(key, to.hash.content(one.record))});
}

/// After a read error, finds the unreadable object. The object in memory counts, whatever the
/// archive has.
void object_check::read_one_by_one(type& of, std::uint32_t begin, std::uint32_t end, piece& to) {
    type_records in_memory(state_, of.name, nullptr, type_records::places::memory);
    const auto read = [&](type_records& from, std::uint32_t id) {
        from.each(id, id + 1, [&](const type_records::seen& one) { add_object(of, one, to); });
    };
    for (std::uint32_t id = begin; id < end; ++id) {
        const std::size_t before = to.wanted.size();
        try {
            try {
                read(of.records, id);
            } catch (const damaged_error&) {
                if (to.wanted.size() == before) read(in_memory, id);
                if (to.wanted.size() == before) throw;
            }
        } catch (const damaged_error& problem) {
            to.unreadable.push_back({to.hash.key(of.name, id), of.number, id});
            to.problems.emplace_back(problem.what());
        }
    }
}

void object_check::look_up(const type& of, piece& to) {
    using clock = std::chrono::steady_clock;
    constexpr std::size_t at_once = 128;
    const std::span<const wanted_leaf> wanted(to.wanted);
    for (std::size_t next = 0; next < wanted.size();) {
        state_.take_turn([&] {
            const auto until = clock::now() + row_source::slice;
            const read_only_tree tree(state_.source());
            do {
                const auto some = wanted.subspan(next, std::min(at_once, wanted.size() - next));
                for (const auto& found : find_leaves(tree, some))
                    compare(of, found, next++, to);
            } while (next < wanted.size() && clock::now() < until);
        });
    }
    to.wanted = {};
    to.objects = {};
}

/// Ids in memory or in the root are objects; a fault of other ids is reported only if there are
/// none of these.
void object_check::look_up_unreadable(const type& of, piece& to) {
    if (to.unreadable.empty()) return;
    std::vector<std::optional<found_leaf>> found;
    std::vector<bool> is_archived;
    state_.take_turn([&] {
        const rows::type_rows in_memory = state_.source().of(of.name);
        found = find_leaves(read_only_tree(state_.source()), to.unreadable);
        for (const wanted_leaf& one : to.unreadable)
            is_archived.push_back(!may_have(in_memory.slots(), one.id));
    });
    const std::uint64_t read_before = to.objects_read;
    const auto add_fault = [&](std::size_t number) {
        to.faults.add({kind::unreadable, of.name, to.unreadable[number].id, to.problems[number],
                       is_archived[number]});
    };
    for (std::size_t number = 0; number < found.size(); ++number) {
        if (is_archived[number] && !found[number]) continue;
        of.there.add(to.unreadable[number].id);
        ++to.objects_read;
        to.archived += is_archived[number] ? 1 : 0;
        to.found += found[number] ? 1 : 0;
        add_fault(number);
    }
    if (to.objects_read == read_before) add_fault(0);
    to.unreadable = {};
    to.problems = {};
}

void object_check::compare(const type& of, const std::optional<found_leaf>& found,
                           std::size_t number, piece& to) {
    const object& one = to.objects[number];
    const std::uint32_t id = to.wanted[number].id;
    if (!found)
        return to.faults.add(
            {kind::not_in_root, of.name, id, "in the state, not in the root", one.is_archived});
    ++to.found;
    if (found->digest == one.leaf) return;
    std::string text = "its content is not what the root commits to";
    if (nodes_.is_damaged(found->node))
        text += "; but " + name_of(found->node) + ", which has its leaf, is damaged";
    to.faults.add({kind::other_content, of.name, id, std::move(text), one.is_archived});
}

/// Reports leaves without an object.
void object_check::check_leaves(root_faults& to) {
    for (const node_range& range : node_ranges(state_, nodes_in_a_turn))
        each_node(state_, range, [&](const read_only_tree&, node_ref at, const node_view& node) {
            if (node.size() > at.capacity()) return;
            for (unsigned digit = 0; digit < branches_per_node; ++digit)
                if (node.has(digit) && node.is_leaf(digit))
                    check_leaf(at, digit, node.at_digit(digit), to);
        });
}

void object_check::check_leaf(node_ref at, unsigned digit, const child& leaf, root_faults& to) {
    const auto type = types_.find(leaf.type);
    if (type == types_.end())
        return to.add(of_node(at, fmt::format("at digit {} it has an object of a type {}, which "
                                              "the root does not know",
                                              digit, leaf.type)));
    const auto of_type = there_.find(leaf.type);
    if (of_type != there_.end() && of_type->second.contains(leaf.reference)) {
        if (leaves_.at(leaf.type).add(leaf.reference)) return;
        return to.add(of_node(at, fmt::format("at digit {} it has a leaf of {} {}, of which there "
                                              "is another one; one of them is damaged",
                                              digit, type->second, leaf.reference)));
    }
    to.add({kind::not_in_state, type->second, leaf.reference, "in the root, not in the state"});
}

} // namespace chainbase::inspect
