#include <archive/store.hpp>
#include <chainbase/state_root/id_tree.hpp>
#include <chainbase/state_root/sha256.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/driver/root/known_roots.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/inspect/archive/segment_archive.hpp>
#include <tools/inspect/root/root_record.hpp>
#include <tools/inspect/root/root_report.hpp>
#include <tools/inspect/root/type_leaves.hpp>
#include <tools/inspect/rows/merged_rows.hpp>
#include <tools/inspect/rows/row_source.hpp>
#include <tools/inspect/rows/type_records.hpp>
#include <tools/report_json.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace chainbase::driver {

namespace {

unsigned threads() {
    return std::max(1U, std::thread::hardware_concurrency());
}

/// A state, or a file of roots, to compare.
class bisected_side {
public:
    /// An object; without JSON: missing or unreadable.
    struct row : inspect::object_row {
        std::string problem; ///< why it is unreadable
    };

    /// Throws what known_roots::read and opening a state for reading throw.
    explicit bisected_side(const std::filesystem::path& source) {
        if (known_roots::is_file(source))
            file_ = known_roots::of_file(source);
        else
            state_.emplace(source);
    }

    [[nodiscard]] bool is_state() const noexcept { return state_.has_value(); }
    /// From here on reads the state as of this moment: for a state, throws state_changed now and
    /// later when it has changed.
    void hold() {
        if (state_) still_.emplace(*state_);
    }
    void require_held() {
        if (still_) still_->take_turn([] {});
    }
    [[nodiscard]] known_roots roots() { return file_ ? *file_ : known_roots::of_state(*state_); }
    /// What the state keeps of its root. Requires a state.
    [[nodiscard]] inspect::root_record record() {
        inspect::root_record found;
        still_->take_turn([&] { found = inspect::root_record::of(*state_); });
        return found;
    }
    /// The leaves of a type, from its objects. Requires a state.
    [[nodiscard]] inspect::type_leaves leaves(const std::string& type) {
        return inspect::type_leaves::of(*still_, archive(), type, threads());
    }
    /// One object of the state, in memory or archived. Requires a state.
    [[nodiscard]] row find(const std::string& type, std::uint32_t id) {
        try {
            return read(type, id);
        } catch (const error& problem) {
            return {{}, problem.what()};
        }
    }

private:
    [[nodiscard]] row read(const std::string& type, std::uint32_t id) {
        auto found = inspect::object_row::find(*state_, archive(), type, id);
        if (!found) return {};
        return {*std::move(found), {}};
    }
    [[nodiscard]] const archive::store* archive() {
        if (!is_archive_open_) archive_ = inspect::open_archive(*state_);
        is_archive_open_ = true;
        return archive_.get();
    }

    std::optional<known_roots> file_; ///< read only once: it may be a pipe
    std::optional<inspect::row_source> state_;
    std::optional<inspect::unchanging_state> still_;
    std::unique_ptr<archive::store> archive_;
    bool is_archive_open_ = false;
};

/// Where two runs of a chain began to differ, and how.
struct bisection {
    /// The first block whose roots differ.
    struct block {
        std::uint64_t number = 0;
        known_roots::entry a;
        known_roots::entry b;
        /// From this block on all roots are equal again: the kept roots between differ, not the
        /// states. Nothing: they stay different.
        std::optional<std::uint64_t> same_again;

        /// The block's own writes are equal: something else changed the state before it. Nothing:
        /// unknown.
        [[nodiscard]] std::optional<bool> has_same_writes() const noexcept { return a.wrote_as(b); }
    };
    /// An object that differs.
    struct object {
        struct field {
            std::string name;
            std::string a; ///< as in a table
            std::string b;
        };
        std::string type;
        std::uint32_t id = 0;
        std::string a; ///< JSON; empty: missing or unreadable
        std::string b;
        std::vector<field> fields;           ///< those that differ, if both have the object
        std::vector<std::string> unreadable; ///< why one of them is unreadable
    };
    /// A part of a state that contradicts its own root, though no block changed it.
    struct fault {
        std::string kind; ///< as `chainbase-inspect root --verify` has them, or "block_root"
        std::string type;
        std::optional<std::uint32_t> id; ///< nothing: the whole type
        std::string what;
        BOOST_DESCRIBE_CLASS(fault, (), (kind, type, id, what), (), ())
    };
    /// One of the two inputs.
    struct side {
        std::filesystem::path path;
        bool is_state = false;  ///< else a file of roots
        std::uint64_t head = 0; ///< the last block whose root it has
        /// Objects compared one by one; nothing: none were.
        std::optional<std::uint64_t> objects_looked_at;
        std::uint64_t fault_count = 0;
        std::vector<fault> faults; ///< the first ones
        BOOST_DESCRIBE_CLASS(side, (),
                             (path, is_state, head, objects_looked_at, fault_count, faults), (), ())
    };

    side a;
    side b;
    std::uint64_t first_compared = 0; ///< blocks
    std::uint64_t last_compared = 0;
    std::optional<block> differs; ///< nothing: all common blocks are equal
    /// A state changed during every attempt to compare objects: they were not compared.
    bool has_moved = false;
    std::uint64_t object_count = 0; ///< objects that differ between two states, at their heads
    std::vector<object> objects;    ///< the first ones

    [[nodiscard]] bool is_different() const noexcept {
        return differs || object_count != 0 || a.fault_count != 0 || b.fault_count != 0;
    }

    /// Compares the roots of two states' or files' blocks; then, if one differs or both have the
    /// same head, the objects of two states of each type whose roots are not the same; and, if
    /// nothing differs, whether each state's objects match its root. Names at most `limit` objects.
    ///
    /// Delays no writer. Throws usage_error when they have no block in common, are of other chains
    /// or commit to other types, and what opening a state for reading throws.
    [[nodiscard]] static bisection of(const std::filesystem::path& a,
                                      const std::filesystem::path& b, std::size_t limit);
};

using inspect::root_fault;

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

/// Compares common blocks, and finds the first whose roots differ.
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

/// The kept root of the last block must equal the recorded one.
void check_head(const known_roots& roots, const sha256_digest& recorded, bisection::side& of) {
    const auto& [number, newest] = *roots.by_number.rbegin();
    if (newest.root == recorded) return;
    ++of.fault_count;
    of.faults.push_back(
        {"block_root", "block_root", 0,
         fmt::format("the kept root of block {} is {}, but that of the objects after it is {}",
                     number, hex(newest.root), hex(recorded))});
}

/// The ids at which objects differ, or are in memory and cannot be read.
std::vector<std::uint32_t> differences(const inspect::type_leaves& a,
                                       const inspect::type_leaves& b) {
    std::vector<std::uint32_t> ids;
    state_root::id_tree::differences(a.tree, b.tree, [&](std::uint32_t id) { ids.push_back(id); });
    for (const auto* side : {&a, &b})
        for (const auto& one : side->unreadable)
            if (!one.is_archived) ids.push_back(one.id);
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
}

bool have_same_root(std::string_view type, const inspect::root_record& a,
                    const inspect::root_record& b) {
    const auto* const in_a = a.find(type);
    const auto* const in_b = b.find(type);
    return in_a && in_b && in_a->root == in_b->root && in_a->height == in_b->height;
}

/// Names `limit` objects, of the types whose recorded roots differ.
void compare_types(bisected_side& a, bisected_side& b, std::size_t limit, bisection& found) {
    const inspect::root_record of_a = a.record();
    const inspect::root_record of_b = b.record();
    std::set<object_name> names;
    for (const state_root::committed_type& one : of_a.types) {
        if (have_same_root(one.name.view(), of_a, of_b)) continue;
        const std::string type(one.name.view());
        for (const std::uint32_t id : differences(a.leaves(type), b.leaves(type)))
            if (found.object_count++ < limit) names.insert({type, id});
    }
    compare_objects(a, b, names, found);
}

/// Everything except comparing all objects. Throws state_changed.
bisection compare(bisected_side& a, bisected_side& b, std::size_t limit) {
    a.hold();
    b.hold();
    const known_roots roots_a = a.roots();
    const known_roots roots_b = b.roots();
    bisection found = of_roots(roots_a, roots_b);
    a.require_held();
    b.require_held();
    if (a.is_state()) check_head(roots_a, a.record().recorded.root, found.a);
    if (b.is_state()) check_head(roots_b, b.record().recorded.root, found.b);
    if (a.is_state() && b.is_state() && (found.differs || found.a.head == found.b.head))
        compare_types(a, b, limit, found);
    a.require_held();
    b.require_held();
    return found;
}

/// Compares a state's objects with its root.
void look_at_objects(bisection::side& of, std::size_t limit, bisection& found) {
    const auto report = inspect::root_report::of(of.path, {true, threads(), limit});
    // One that is not current has changes that are in no block yet.
    const bool has_moved = report.has_moved || !report.is_current();
    found.has_moved = found.has_moved || has_moved;
    if (has_moved) return;
    const inspect::root_faults& faults = report.verified->faults;
    of.objects_looked_at = report.verified->objects;
    of.fault_count += faults.total();
    for (std::size_t number = 0; number < inspect::root_faults::kinds; ++number)
        for (const root_fault& one : faults.named(static_cast<root_fault::kind>(number)))
            if (of.faults.size() < limit)
                of.faults.push_back(
                    {std::string(root_fault::names[number]), one.type, one.id, one.text});
}

/// Compares objects that contradict their state's root with the other state's. Where no more is
/// known than their type, those that are not the same in both. Throws state_changed.
void compare_faulty(bisected_side& a, bisected_side& b, std::size_t limit, bisection& found) {
    if (!found.a.is_state || !found.b.is_state) return;
    std::set<object_name> names;
    std::set<std::string> types;
    for (const bisection::side* side : {&found.a, &found.b})
        for (const bisection::fault& one : side->faults)
            if (one.kind == "type")
                types.insert(one.type);
            else if (one.id && one.kind != "record")
                names.insert({one.type, *one.id});
    for (const std::string& type : types)
        if (have_same_root(type, a.record(), b.record()))
            for (const std::uint32_t id : differences(a.leaves(type), b.leaves(type)))
                if (names.size() < limit) names.insert({type, id});
    compare_objects(a, b, names, found);
}

bisection bisection::of(const std::filesystem::path& a, const std::filesystem::path& b,
                        std::size_t limit) {
    bisected_side side_a(a);
    bisected_side side_b(b);
    const auto whole =
        inspect::attempt_while_unchanged([&] { return compare(side_a, side_b, limit); });
    if (!whole) {
        bisection found = of_roots(side_a.roots(), side_b.roots());
        found.has_moved = true;
        return found;
    }
    bisection found = *whole;
    if (found.is_different()) return found;
    for (side* one : {&found.a, &found.b})
        if (one->is_state) look_at_objects(*one, limit, found);
    try {
        compare_faulty(side_a, side_b, limit, found);
    } catch (const inspect::state_changed&) {
        found.has_moved = true;
    }
    return found;
}

json json_of_entry(const known_roots::entry& one) {
    return {{"root", hex(one.root)}, {"writes", hex(one.writes)}};
}

json report_value(const bisection::block& one) {
    return {{"block", one.number},
            {"a", json_of_entry(one.a)},
            {"b", json_of_entry(one.b)},
            {"same_writes", json_of(one.has_same_writes())},
            {"same_again", json_of(one.same_again)}};
}

/// Prints rows unparsed: parsing could change their numbers.
std::string json_text_of(const bisection::object& one) {
    json fields = json::array();
    for (const bisection::object::field& each : one.fields)
        fields.push_back(each.name);
    std::string text = line_of(
        {{"type", one.type}, {"id", one.id}, {"fields", fields}, {"unreadable", one.unreadable}});
    text.back() = ',';
    const auto row = [](const std::string& of) { return of.empty() ? "null" : of; };
    return text + "\"a\":" + row(one.a) + ",\"b\":" + row(one.b) + '}';
}

std::string changes_of(const bisection::object& one) {
    std::string text;
    for (const bisection::object::field& each : one.fields)
        text += fmt::format("    {}: {} in a, {} in b\n", each.name, each.a, each.b);
    return text.empty() ? "    the same in both now\n" : text;
}

std::string text_of(const bisection::object& one) {
    const std::string name = fmt::format("  {} {}", one.type, one.id);
    std::string text = name + '\n';
    for (const std::string& problem : one.unreadable)
        text += "    cannot be read: " + problem + '\n';
    if (!one.unreadable.empty()) return text;
    if (!one.a.empty() && !one.b.empty()) return text + changes_of(one);
    if (one.a.empty() && one.b.empty()) return text + "    in neither of them\n";
    const bool is_in_b = one.a.empty();
    return fmt::format("{}, in {} only\n    {}\n", name, is_in_b ? "b" : "a",
                       is_in_b ? one.b : one.a);
}

std::string faults_of(const char* name, const bisection::side& one) {
    if (one.fault_count == 0) return {};
    std::string text = fmt::format("{}: {} fault(s) that no block made{}\n", name, one.fault_count,
                                   one.faults.size() < one.fault_count ? "; the first ones:" : ":");
    for (const bisection::fault& each : one.faults)
        text += fmt::format("  {}{}: {}\n", each.type, each.id ? fmt::format(" {}", *each.id) : "",
                            each.what);
    return text;
}

std::string writes_in_words(const bisection::block& of) {
    const std::optional<bool> are_same = of.has_same_writes();
    if (!are_same) return "what it wrote is not known";
    if (!*are_same) return "it did not write the same in both";
    return of.same_again ? "it wrote the same in both"
                         : "it wrote the same in both: something else changed one of them before";
}

std::string blocks_in_words(const bisection& found) {
    if (!found.differs)
        return fmt::format("the roots of blocks {} to {} are the same\n", found.first_compared,
                           found.last_compared);
    const bisection::block& one = *found.differs;
    std::string text =
        fmt::format("block {} is the first one with another root\n  a {}\n  b {}\n  {}\n",
                    one.number, hex(one.a.root), hex(one.b.root), writes_in_words(one));
    if (one.number == found.first_compared)
        text += "  no earlier root is kept by both: they may have differed before\n";
    if (one.same_again)
        text += fmt::format("  from block {} on they are the same again: the roots that were kept "
                            "are damaged, or the difference went away\n",
                            *one.same_again);
    return text;
}

std::string looked_at(const char* name, const bisection::side& one) {
    if (!one.is_state) return {};
    if (!one.objects_looked_at)
        return fmt::format("the objects of {} were not compared one by one\n", name);
    return fmt::format("{} objects of {} were compared one by one\n", *one.objects_looked_at, name);
}

std::string objects_in_words(const bisection& found) {
    std::string text;
    if (found.object_count != 0)
        text += fmt::format("{} object(s) differ now, after block {} in a and {} in b{}\n",
                            found.object_count, found.a.head, found.b.head,
                            found.objects.size() < found.object_count ? "; some of them:" : ":");
    else if (!found.objects.empty())
        text += "in both:\n";
    for (const bisection::object& one : found.objects)
        text += text_of(one);
    return text;
}

/// How to isolate the difference when blocks follow it.
std::string advice(const bisection& found) {
    if (!found.differs || !found.a.is_state || !found.b.is_state || found.differs->same_again)
        return {};
    const std::uint64_t number = found.differs->number;
    if (found.a.head <= number && found.b.head <= number) return {};
    return fmt::format("to see what blocks changed after block {} and nothing later, replay both "
                       "logs into new folders with --state-root and --stop-at {}, and call this "
                       "with them; a difference that they do not show was not made by a block\n",
                       number, number);
}

std::string to_json(const bisection& found) {
    std::string text = line_of({{"schema_version", 1},
                                {"a", json_of(found.a)},
                                {"b", json_of(found.b)},
                                {"first_compared_block", found.first_compared},
                                {"last_compared_block", found.last_compared},
                                {"same", !found.is_different() && !found.has_moved},
                                {"moved", found.has_moved},
                                {"differs", json_of(found.differs)},
                                {"different_objects", found.object_count}});
    text.back() = ',';
    text += "\"objects\":[";
    for (const bisection::object& one : found.objects)
        text += fmt::format("{}{}", &one == found.objects.data() ? "" : ",", json_text_of(one));
    return text + "]}";
}

std::string to_text(const bisection& found) {
    std::string text = blocks_in_words(found) + faults_of("a", found.a) + faults_of("b", found.b) +
                       objects_in_words(found) + advice(found);
    if (!found.differs && found.object_count == 0)
        text += looked_at("a", found.a) + looked_at("b", found.b);
    if (found.has_moved)
        text += "a state changed each time that its objects were read: stop its writer, or name "
                "a checkpoint (DIR@checkpoint)\n";
    return text;
}

} // namespace

void declare_bisect(command& verb) {
    struct call {
        std::filesystem::path a;
        std::filesystem::path b;
        std::size_t objects = 20;
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("A", options->a, "folder of a state with a root, or the output of `roots`")
        .required();
    verb.add_option("B", options->b, "another one").required();
    verb.add_option("--objects", options->objects, "objects to name at most")
        .whole_number(1, 1'000'000)
        .shows_default();
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        const bisection found = bisection::of(options->a, options->b, options->objects);
        print_or_throw(options->json ? to_json(found) + "\n" : to_text(found), "call again");
        return found.is_different() ? exit_code::different
               : found.has_moved    ? exit_code::moved
                                    : exit_code::done;
    });
}

} // namespace chainbase::driver
