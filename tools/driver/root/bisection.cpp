#include <chainbase/state_root/tree_diff.hpp>
#include <pool_allocator/error.hpp>
#include <tools/driver/root/bisection.hpp>
#include <tools/inspect/archive/kept_archive.hpp>
#include <tools/inspect/root/looked_at_tree.hpp>
#include <tools/inspect/root/root_report.hpp>
#include <tools/inspect/rows/merged_rows.hpp>
#include <tools/inspect/rows/row_source.hpp>

#include <algorithm>
#include <compare>
#include <memory>
#include <set>
#include <thread>
#include <utility>

namespace chainbase::driver {

namespace {

using inspect::row_source;

/// Blocks that both have, and the first of them with another root.
void compare_blocks(const known_roots& a, const known_roots& b, bisection& found) {
    std::uint64_t compared = 0;
    for (const auto& [number, of_a] : a.by_number) {
        const auto of_b = b.by_number.find(number);
        if (of_b == b.by_number.end()) continue;
        if (compared++ == 0) found.first_compared = number;
        found.last_compared = number;
        if (!found.differs && of_a.root != of_b->second.root)
            found.differs = {number, of_a, of_b->second};
    }
    if (compared != 0) return;
    const auto range = [](const known_roots& of) {
        return of.source.string() + " has those of blocks " +
               std::to_string(of.by_number.begin()->first) + " to " +
               std::to_string(of.by_number.rbegin()->first);
    };
    throw usage_error("no block has a root in both: " + range(a) + ", " + range(b) +
                      "; let one go on to the other's blocks, or keep more with --keep-roots");
}

/// A state whose objects are looked at one by one.
class looked_at_state {
public:
    explicit looked_at_state(const std::filesystem::path& state)
        : from_(state), archive_(inspect::open_archive(from_)) {}

    struct row {
        std::string json;
        std::vector<std::string> names;
        std::vector<std::string> cells;
    };
    [[nodiscard]] std::optional<row> find(const std::string& type, std::uint32_t id) {
        inspect::merged_rows rows(from_, {type, "id", {std::to_string(id)}, {}, {}, false},
                                  archive_.get());
        const auto* const one = rows.next();
        if (!one) return std::nullopt;
        return row{one->json, rows.names(), one->cells};
    }
    [[nodiscard]] row_source& source() noexcept { return from_; }

private:
    row_source from_;
    std::unique_ptr<archive::store> archive_;
};

struct object_name {
    std::string type;
    std::uint32_t id;

    friend auto operator<=>(const object_name&, const object_name&) = default;
};

/// What the trees of two states do not have in common: the first ones. Both stand still meanwhile.
std::set<object_name> different_objects(row_source& a, row_source& b, std::size_t limit,
                                        std::uint64_t& count) {
    std::set<object_name> found;
    a.take_turn([&] {
        b.take_turn([&] {
            state_root::diff(inspect::looked_at_tree(a), inspect::looked_at_tree(b),
                             [&](const state_root::difference& one) {
                                 if (count++ < limit) found.insert({std::string(one.type), one.id});
                             });
        });
    });
    return found;
}

std::vector<std::string> fields_that_differ(const looked_at_state::row& a,
                                            const looked_at_state::row& b) {
    std::vector<std::string> fields;
    for (std::size_t i = 0; i < a.names.size(); ++i) {
        const auto other = std::ranges::find(b.names, a.names[i]);
        if (other == b.names.end() ||
            a.cells[i] != b.cells[static_cast<std::size_t>(other - b.names.begin())])
            fields.push_back(a.names[i]);
    }
    for (const std::string& name : b.names)
        if (std::ranges::find(a.names, name) == a.names.end()) fields.push_back(name);
    return fields;
}

void compare_objects(looked_at_state& a, looked_at_state& b, const std::set<object_name>& names,
                     bisection& found) {
    for (const object_name& name : names) {
        const auto in_a = a.find(name.type, name.id);
        const auto in_b = b.find(name.type, name.id);
        bisection::object one{
            name.type, name.id, in_a ? in_a->json : "", in_b ? in_b->json : "", {}};
        if (in_a && in_b) one.fields = fields_that_differ(*in_a, *in_b);
        found.objects.push_back(std::move(one));
    }
}

/// What the objects of a state have other than its root says.
void look_at_objects(bisection::side& of, std::size_t limit, std::set<object_name>& names) {
    const auto report = inspect::root_report::of(
        of.path, {true, std::max(1U, std::thread::hardware_concurrency()), limit});
    if (report.has_moved)
        throw error(of.path.string() +
                    ": its writer changed it each time that it was looked at; "
                    "stop it, or bisect a checkpoint (" +
                    of.path.string() + "@checkpoint)");
    const inspect::root_faults& faults = report.verified->faults;
    of.fault_count = faults.total();
    for (std::size_t number = 0; number < inspect::root_faults::kinds; ++number) {
        const auto kind = static_cast<inspect::root_fault::kind>(number);
        const bool is_of_object =
            kind != inspect::root_fault::kind::tree && kind != inspect::root_fault::kind::node;
        for (const inspect::root_fault& one : faults.named(kind)) {
            const std::string name =
                one.type.empty() ? "" : one.type + ' ' + std::to_string(one.id) + ": ";
            of.faults.push_back(name + one.text);
            if (is_of_object) names.insert({one.type, one.id});
        }
    }
}

} // namespace

bisection bisection::of(const std::filesystem::path& a, const std::filesystem::path& b,
                        std::size_t objects_limit) {
    const known_roots roots_a = known_roots::read(a);
    const known_roots roots_b = known_roots::read(b);
    roots_a.require_comparable(roots_b);
    bisection found;
    const auto side_of = [](const known_roots& roots) {
        return side{roots.source,
                    roots.is_of_state,
                    roots.by_number.rbegin()->first,
                    {},
                    0};
    };
    found.a = side_of(roots_a);
    found.b = side_of(roots_b);
    compare_blocks(roots_a, roots_b, found);
    if (!found.a.is_state || !found.b.is_state) return found;
    looked_at_state state_a(a);
    looked_at_state state_b(b);
    std::set<object_name> names;
    if (found.differs || found.a.head == found.b.head)
        names = different_objects(state_a.source(), state_b.source(), objects_limit,
                                  found.object_count);
    if (!found.differs && found.object_count == 0) {
        look_at_objects(found.a, objects_limit, names);
        look_at_objects(found.b, objects_limit, names);
    }
    compare_objects(state_a, state_b, names, found);
    return found;
}

} // namespace chainbase::driver
