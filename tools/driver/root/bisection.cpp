#include <chainbase/state_root/merkle_tree.hpp>
#include <pool_allocator/error.hpp>
#include <tools/driver/root/bisected_side.hpp>
#include <tools/driver/root/bisection.hpp>
#include <tools/inspect/root/root_report.hpp>
#include <tools/inspect/root/still_tree.hpp>
#include <tools/inspect/rows/still_attempts.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <set>
#include <thread>
#include <utility>

namespace chainbase::driver {

namespace {

using inspect::root_fault;
using inspect::still_tree;

struct object_name {
    std::string type;
    std::uint32_t id;

    friend auto operator<=>(const object_name&, const object_name&) = default;
};

[[noreturn]] void throw_none_in_common(const known_roots& a, const known_roots& b) {
    const auto range = [](const known_roots& of) {
        return fmt::format("{} has those of blocks {} to {}", of.source.string(),
                           of.by_number.begin()->first, of.by_number.rbegin()->first);
    };
    throw usage_error("no block has a root in both: " + range(a) + ", " + range(b) +
                      "; let one go on to the other's blocks, or keep more with --keep-roots");
}

/// Blocks that both have, and the first of them with another root.
void compare_blocks(const known_roots& a, const known_roots& b, bisection& found) {
    std::uint64_t compared = 0;
    for (const auto& [number, of_a] : a.by_number) {
        const auto of_b = b.by_number.find(number);
        if (of_b == b.by_number.end()) continue;
        if (compared++ == 0) found.first_compared = number;
        found.last_compared = number;
        const bool is_same = of_a.root == of_b->second.root;
        if (!found.differs) {
            if (!is_same) found.differs = {number, of_a, of_b->second, std::nullopt};
        } else if (!is_same) {
            found.differs->same_again.reset();
        } else if (!found.differs->same_again) {
            found.differs->same_again = number;
        }
    }
    if (compared == 0) throw_none_in_common(a, b);
}

bisection of_roots(const known_roots& a, const known_roots& b) {
    a.require_comparable(b);
    bisection found;
    const auto side_of = [](const known_roots& roots) {
        bisection::side one;
        one.path = roots.source;
        one.is_state = roots.is_of_state;
        one.head = roots.by_number.rbegin()->first;
        return one;
    };
    found.a = side_of(a);
    found.b = side_of(b);
    compare_blocks(a, b, found);
    return found;
}

std::vector<bisection::object::field> fields_that_differ(const bisected_side::row& a,
                                                         const bisected_side::row& b) {
    std::vector<bisection::object::field> fields;
    const auto cell_of = [](const bisected_side::row& in, const std::string& name) {
        const auto place = std::ranges::find(in.names, name) - in.names.begin();
        return place == std::ssize(in.names) ? std::string()
                                             : in.cells[static_cast<std::size_t>(place)];
    };
    std::vector<std::string> names = a.names;
    for (const std::string& name : b.names)
        if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    for (const std::string& name : names) {
        bisection::object::field one{name, cell_of(a, name), cell_of(b, name)};
        if (one.a != one.b) fields.push_back(std::move(one));
    }
    return fields;
}

void compare_objects(bisected_side& a, bisected_side& b, const std::set<object_name>& names,
                     bisection& found) {
    for (const object_name& name : names) {
        const bisected_side::row in_a = a.find(name.type, name.id);
        const bisected_side::row in_b = b.find(name.type, name.id);
        bisection::object one{name.type, name.id, in_a.json, in_b.json, {}, {}};
        if (!in_a.json.empty() && !in_b.json.empty()) one.fields = fields_that_differ(in_a, in_b);
        for (const auto* row : {&in_a, &in_b})
            if (!row->problem.empty()) one.unreadable.push_back(row->problem);
        found.objects.push_back(std::move(one));
    }
}

/// What is kept as the root of the last block has to be that of the tree.
void check_head(const known_roots& roots, const still_tree& tree, bisection::side& of) {
    const auto& [number, newest] = *roots.by_number.rbegin();
    if (newest.root == tree.head().digest) return;
    ++of.fault_count;
    of.faults.push_back(
        {"block_root", "block_root", 0,
         fmt::format("the root that is kept of block {} is {}, and that of the objects after it "
                     "{}",
                     number, hex(newest.root), hex(tree.head().digest))});
}

void compare_trees(bisected_side& a, bisected_side& b, std::size_t limit, bisection& found) {
    const still_tree tree_a(a.held());
    const still_tree tree_b(b.held());
    std::set<object_name> names;
    if (found.differs || found.a.head == found.b.head)
        state_root::diff(tree_a, tree_b, [&](const state_root::difference& one) {
            if (found.object_count++ < limit) names.insert({std::string(one.type), one.id});
        });
    compare_objects(a, b, names, found);
}

/// All but looking at every object. Throws moved_meanwhile.
bisection compare(bisected_side& a, bisected_side& b, std::size_t limit) {
    a.hold();
    b.hold();
    const known_roots roots_a = a.roots();
    const known_roots roots_b = b.roots();
    bisection found = of_roots(roots_a, roots_b);
    a.require_held();
    b.require_held();
    if (a.is_state()) check_head(roots_a, still_tree(a.held()), found.a);
    if (b.is_state()) check_head(roots_b, still_tree(b.held()), found.b);
    if (a.is_state() && b.is_state()) compare_trees(a, b, limit, found);
    a.require_held();
    b.require_held();
    return found;
}

/// What the objects of a state have other than its root says.
void look_at_objects(bisection::side& of, std::size_t limit, bisection& found) {
    const auto report = inspect::root_report::of(
        of.path, {true, std::max(1U, std::thread::hardware_concurrency()), limit});
    of.has_pending = !report.has_moved && !report.is_current();
    found.has_moved = found.has_moved || report.has_moved || of.has_pending;
    if (report.has_moved || of.has_pending) return;
    const inspect::root_faults& faults = report.verified->faults;
    of.objects = report.verified->objects;
    of.fault_count += faults.total();
    for (std::size_t number = 0; number < inspect::root_faults::kinds; ++number)
        for (const root_fault& one : faults.named(static_cast<root_fault::kind>(number)))
            if (of.faults.size() < limit)
                of.faults.push_back(
                    {std::string(root_fault::names[number]), one.type, one.id, one.text});
}

/// Objects that are not what the root of their state says, beside the other's.
void compare_faulty(bisected_side& a, bisected_side& b, bisection& found) {
    std::set<object_name> names;
    for (const bisection::side* side : {&found.a, &found.b})
        for (const bisection::fault& one : side->faults)
            if (one.kind == "other_content" || one.kind == "not_in_root" ||
                one.kind == "not_in_state" || one.kind == "unreadable")
                names.insert({one.type, one.id});
    if (found.a.is_state && found.b.is_state) compare_objects(a, b, names, found);
}

} // namespace

bisection bisection::of(const std::filesystem::path& a, const std::filesystem::path& b,
                        std::size_t limit) {
    bisected_side side_a(a);
    bisected_side side_b(b);
    const auto whole = inspect::attempt_while_still([&] { return compare(side_a, side_b, limit); });
    if (!whole) {
        bisection found = of_roots(side_a.roots(), side_b.roots());
        found.has_moved = true;
        return found;
    }
    bisection found = *whole;
    if (found.is_different()) return found;
    for (side* one : {&found.a, &found.b})
        if (one->is_state) look_at_objects(*one, limit, found);
    compare_faulty(side_a, side_b, found);
    return found;
}

} // namespace chainbase::driver
