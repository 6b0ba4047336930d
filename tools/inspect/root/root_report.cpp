#include <pool_allocator/base/error.hpp>
#include <tools/inspect/archive/segment_archive.hpp>
#include <tools/inspect/root/read_only_tree.hpp>
#include <tools/inspect/root/root_check.hpp>
#include <tools/inspect/root/root_report.hpp>
#include <tools/inspect/rows/merged_rows.hpp>
#include <tools/inspect/rows/type_records.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/print.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace chainbase::inspect {

namespace {

using state_root::branches_per_node;
using state_root::capacities;
using state_root::node_ref;
using state_root::node_view;

/// Bit i: size i is in the set.
using size_set = std::uint32_t;

/// Array places of all nodes.
std::uint64_t places(const children_histogram& nodes, size_set sparse) {
    std::uint64_t sum = 0;
    std::uint64_t fitting = branches_per_node; // from the largest number of children down
    for (unsigned children = branches_per_node; children > 0; --children) {
        if (sparse >> children & 1) fitting = children;
        sum += nodes[children] * fitting;
    }
    return sum;
}

std::vector<unsigned> sizes_of(size_set set) {
    std::vector<unsigned> all;
    for (unsigned size = 1; size < branches_per_node; ++size)
        if (set >> size & 1) all.push_back(size);
    return all;
}

std::uint64_t bytes_of(const root_report::by_capacity& nodes) {
    std::uint64_t sum = 0;
    for (unsigned number = 0; number < capacities.size(); ++number)
        sum += nodes[number] * node_view::bytes(capacities[number]);
    return sum;
}

/// An object as `get` prints it; empty when unreadable.
std::string row_of(row_source& state, const archive::store* archive, const root_fault& fault) {
    try {
        const auto found = object_row::find(state, archive, fault.type, fault.id);
        return found ? found->json : std::string();
    } catch (const error&) {
        return {};
    }
}

/// One attempt to read everything.
class attempt {
public:
    attempt(row_source& state, const root_report::question& asked)
        : state_(state, [&] { read_head(state); }), asked_(asked) {
        found_.is_rolled_back = state.is_rolled_back();
    }

    /// The root alone, read in one turn.
    [[nodiscard]] const root_report& head() const noexcept { return found_; }
    root_report run() {
        constexpr std::uint32_t nodes_at_once = UINT32_MAX >> 1;
        for (const node_range& range : node_ranges(state_, nodes_at_once))
            each_node(state_, range,
                      [&](const read_only_tree&, node_ref at, const node_view& node) {
                          count(at, node, found_);
                      });
        name_types(found_);
        if (asked_.verify) verify(found_);
        return std::move(found_);
    }

private:
    void read_head(row_source& state) {
        const read_only_tree tree(state);
        found_.revision = state.revision();
        found_.root = hex(tree.head().digest);
        found_.root_revision = tree.head().revision;
        found_.objects = tree.head().leaves;
        types_ = tree.types();
    }

    void count(node_ref at, const node_view& node, root_report& to) {
        if (node.branches() == 0) {
            ++to.free[at.capacity_class()];
            return;
        }
        ++to.nodes[at.capacity_class()];
        ++to.nodes_by_children[node.size()];
        if (node.size() > at.capacity()) return; // damaged: the child does not exist
        for (unsigned digit = 0; digit < branches_per_node; ++digit)
            if (node.has(digit) && node.is_leaf(digit)) ++leaves_[node.at_digit(digit).type];
    }

    void name_types(root_report& to) {
        for (const auto& [number, leaves] : leaves_)
            types_.try_emplace(number, fmt::format("(no type has the number {})", number));
        for (const auto& [number, name] : types_)
            to.types.push_back({name, leaves_[number]});
        std::ranges::sort(to.types, {}, &root_report::type::name);
    }

    void verify(root_report& to) {
        const auto archive = open_archive(state_.source());
        root_faults faults(asked_.limit);
        node_check nodes(state_);
        nodes.run(asked_.threads, faults);
        object_check objects(state_, archive.get(), nodes);
        objects.run(asked_.threads, faults);
        for (const auto what : {root_fault::kind::other_content, root_fault::kind::not_in_root})
            for (root_fault& one : faults.named(what))
                one.row = row_of(state_.source(), archive.get(), one);
        state_.take_turn([] {}); // confirms that these belong to the same moment
        to.verified = {objects.objects(), objects.archived_objects(), nodes.nodes(),
                       std::move(faults)};
    }

    root_report found_;
    std::map<std::uint16_t, std::string> types_;
    unchanging_state state_;
    const root_report::question& asked_;
    std::map<std::uint16_t, std::uint64_t> leaves_;
};

} // namespace

array_sizes array_sizes::of(const children_histogram& nodes, std::vector<unsigned> sparse) {
    size_set set = 0;
    for (const unsigned size : sparse)
        set |= size_set{1} << size;
    const std::uint64_t dense = places(nodes, 0);
    const double ratio =
        dense == 0 ? 1 : static_cast<double>(places(nodes, set)) / static_cast<double>(dense);
    return {std::move(sparse), ratio};
}

array_sizes array_sizes::best(const children_histogram& nodes, unsigned count) {
    array_sizes found;
    std::uint64_t least = UINT64_MAX;
    constexpr size_set end = size_set{1} << branches_per_node;
    for (size_set set = 0; set < end; set += 2) { // no size 0
        if (static_cast<unsigned>(std::popcount(set)) != count) continue;
        const std::uint64_t sum = places(nodes, set);
        const bool is_better = sum < least || (sum == least && sizes_of(set) < found.sizes);
        if (!is_better) continue;
        least = sum;
        found.sizes = sizes_of(set);
    }
    return of(nodes, std::move(found.sizes));
}

void root_faults::add(root_fault one) {
    ++counts_[static_cast<std::size_t>(one.what)];
    if (has_room(one.what)) named(one.what).push_back(std::move(one));
}

void root_faults::add(root_faults&& others) {
    for (std::size_t number = 0; number < kinds; ++number) {
        counts_[number] += others.counts_[number];
        for (root_fault& one : others.named_[number])
            if (has_room(one.what)) named(one.what).push_back(std::move(one));
    }
}

std::uint64_t root_faults::total() const noexcept {
    return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

std::uint64_t root_report::all_nodes() const noexcept {
    return std::accumulate(nodes.begin(), nodes.end(), std::uint64_t{0});
}

std::uint64_t root_report::leaves() const noexcept {
    std::uint64_t sum = 0;
    for (const type& one : types)
        sum += one.objects;
    return sum;
}

std::uint64_t root_report::bytes() const noexcept {
    return bytes_of(nodes);
}

std::uint64_t root_report::free_bytes() const noexcept {
    return bytes_of(free);
}

std::uint64_t root_report::dense_bytes() const noexcept {
    return all_nodes() * dense_node_bytes;
}

double root_report::bytes_per_object() const noexcept {
    return objects == 0
               ? 0
               : static_cast<double>(bytes() + free_bytes()) / static_cast<double>(objects);
}

double root_report::dense_ratio() const noexcept {
    return all_nodes() == 0 ? 1 : static_cast<double>(bytes()) / static_cast<double>(dense_bytes());
}

std::vector<array_sizes> root_report::best_sizes() const {
    constexpr unsigned most = 5;
    std::vector<array_sizes> all;
    for (unsigned count = 0; count <= most; ++count)
        all.push_back(array_sizes::best(nodes_by_children, count));
    return all;
}

array_sizes root_report::sizes_in_use() const {
    return array_sizes::of(nodes_by_children, {capacities.begin(), capacities.end() - 1});
}

root_report root_report::of(const std::filesystem::path& state, const question& asked) {
    row_source from(state);
    if (asked.verify) from.read_all(/*and_keys=*/false);
    if (auto found = attempt_while_unchanged([&] { return attempt(from, asked).run(); }))
        return *std::move(found);
    root_report found;
    if (auto head = attempt_while_unchanged([&] { return attempt(from, asked).head(); }))
        found = *std::move(head);
    else
        found.revision = from.current_revision();
    found.has_moved = true;
    return found;
}

// The JSON members of each part of the report, in order.
BOOST_DESCRIBE_STRUCT(array_sizes, (), (sizes, ratio))
BOOST_DESCRIBE_STRUCT(root_report::type, (), (name, objects))

namespace {

json tree_of(const root_report& found) {
    json by_capacity = json::array();
    for (unsigned number = 0; number < capacities.size(); ++number)
        by_capacity.push_back({{"capacity", capacities[number]},
                               {"node_bytes", node_view::bytes(capacities[number])},
                               {"nodes", found.nodes[number]},
                               {"free", found.free[number]}});
    return {{"nodes", found.all_nodes()},
            {"bytes", found.bytes()},
            {"free_bytes", found.free_bytes()},
            {"dense_bytes", found.dense_bytes()},
            {"bytes_per_object", found.bytes_per_object()},
            {"dense_ratio", found.dense_ratio()},
            {"array_bytes_per_child", array_sizes::bytes_per_child},
            {"nodes_by_children", json_of(std::span(found.nodes_by_children).subspan(1))},
            {"capacities", std::move(by_capacity)},
            {"best_sizes", json_of(found.best_sizes())},
            {"sizes_in_use", json_of(found.sizes_in_use())}};
}

std::string named_of(const root_faults& faults) {
    std::string text;
    for (std::size_t number = 0; number < root_faults::kinds; ++number)
        for (const root_fault& one : faults.named(static_cast<root_fault::kind>(number))) {
            if (!text.empty()) text += ',';
            text += line_with({{"kind", root_fault::names[number]},
                               {"type", one.type},
                               {"id", one.id},
                               {"what", one.text},
                               {"archived", one.is_archived}},
                              {{"row", one.row.empty() ? "null" : one.row}});
        }
    return "[" + text + "]";
}

std::string verified_json(const root_report& found) {
    const root_report::verification& all = *found.verified;
    json head{{"sound", found.is_sound()},
              {"objects", all.objects},
              {"archived_objects", all.archived_objects},
              {"nodes", all.nodes},
              {"faults", all.faults.total()}};
    for (std::size_t number = 0; number < root_faults::kinds; ++number)
        head["faults_by_kind"][std::string(root_fault::names[number])] =
            all.faults.count(static_cast<root_fault::kind>(number));
    return line_with(head, {{"named", named_of(all.faults)}});
}

std::string as_json(const root_report& found, const std::string& state) {
    const bool is_known = !found.root.empty();
    const auto known = [&](const json& value) { return is_known ? value : json(nullptr); };
    return line_with({{"schema_version", 1},
                      {"state", state},
                      {"revision", found.revision},
                      {"rolled_back", found.is_rolled_back},
                      {"moved", found.has_moved},
                      {"root", known(found.root)},
                      {"root_revision", known(found.root_revision)},
                      {"current", known(found.is_current())},
                      {"objects", known(found.objects)},
                      {"types", json_of(found.types)},
                      {"tree", found.has_moved ? json(nullptr) : tree_of(found)}},
                     {{"verified", found.verified ? verified_json(found) : "null"}}) +
           "\n";
}

std::string head_of(const root_report& found, const std::string& state) {
    std::string text = fmt::format("state     {}\nrevision  {}\n", state, found.revision);
    if (found.root.empty()) return text;
    text += fmt::format("root      {}\n", found.root);
    if (found.is_current())
        text += "current   yes\n";
    else if (found.has_moved) // its writer is applying a block
        text += fmt::format("current   no: it is the root of revision {}\n", found.root_revision);
    else if (found.root_revision < 0)
        text += "current   no: it was never made; open the state with the program that keeps the "
                "root, which makes it\n";
    else
        text += fmt::format("current   no: it is the root of revision {}; open the state with "
                            "the program that keeps the root, which makes it anew\n",
                            found.root_revision);
    if (found.has_moved)
        text += fmt::format("objects   {}\n", grouped(found.objects));
    else if (found.leaves() != found.objects)
        text += fmt::format("damaged   it says that it commits to {} objects, but its nodes have "
                            "{}; call again with --verify\n",
                            grouped(found.objects), grouped(found.leaves()));
    return text;
}

std::string types_text(const root_report& found) {
    text_table table({"type", "objects"});
    for (const root_report::type& one : found.types)
        table.add({one.name, grouped(one.objects)});
    table.rule();
    table.add({"all", grouped(found.objects)});
    return table.text();
}

std::string children_of(const root_report& found) {
    text_table table({"children", "nodes", "share"});
    for (unsigned children = 1; children <= branches_per_node; ++children)
        table.add({std::to_string(children), grouped(found.nodes_by_children[children]),
                   fmt::format("{:.1f} %",
                               percent_of(found.nodes_by_children[children], found.all_nodes()))});
    table.rule();
    table.add({"all", grouped(found.all_nodes()), {}});
    return table.text();
}

std::string capacities_of(const root_report& found) {
    text_table table({"array of", "bytes each", "nodes", "bytes", "free", "bytes free"});
    for (unsigned number = 0; number < capacities.size(); ++number) {
        const std::uint64_t bytes = node_view::bytes(capacities[number]);
        table.add({std::to_string(capacities[number]), grouped(bytes), grouped(found.nodes[number]),
                   bytes_in_words(found.nodes[number] * bytes), grouped(found.free[number]),
                   bytes_in_words(found.free[number] * bytes)});
    }
    table.rule();
    std::uint64_t free = 0;
    for (const std::uint64_t one : found.free)
        free += one;
    table.add({"all",
               {},
               grouped(found.all_nodes()),
               bytes_in_words(found.bytes()),
               grouped(free),
               bytes_in_words(found.free_bytes())});
    return table.text() +
           fmt::format(
               "\nbytes per object      {:.1f}, with the free ones\n"
               "against arrays of 16  {:.3f}, of {} bytes each, without the digests of groups\n",
               found.bytes_per_object(), found.dense_ratio(), root_report::dense_node_bytes);
}

std::string sizes_text(const root_report& found) {
    text_table table({"sparse arrays", "sizes", "against 16"});
    table.is_text(1);
    const auto add = [&](const std::string& what, const array_sizes& sizes) {
        table.add({what,
                   sizes.sizes.empty() ? "-" : fmt::format("{}", fmt::join(sizes.sizes, ", ")),
                   fmt::format("{:.3f}", sizes.ratio)});
    };
    for (const array_sizes& best : found.best_sizes())
        add(fmt::format("the best {}", best.sizes.size()), best);
    add("in use", found.sizes_in_use());
    return table.text() +
           fmt::format("(a node counts as the smallest array that its children fit, {} bytes for "
                       "each place,\nas in the published table of the XRP Ledger: 0.384 with 5, "
                       "0.293 with 3, 6, 0.259 with 2, 4, 6)\n",
                       array_sizes::bytes_per_child);
}

/// Whether two faults have the same text and nothing else to tell.
bool have_same_text(const root_fault& one, const root_fault& other) {
    return one.row.empty() && other.row.empty() && one.type == other.type &&
           one.text == other.text && one.is_archived == other.is_archived;
}

/// Lists faults with the same text in one line.
std::string faults_text(const std::vector<root_fault>& faults) {
    std::string text;
    for (auto one = faults.begin(); one != faults.end();) {
        const auto end = std::find_if_not(one + 1, faults.end(), [&](const root_fault& other) {
            return have_same_text(*one, other);
        });
        text += one->type;
        for (auto same = one; same != end; ++same)
            text += fmt::format("{}{}", same == one ? " " : ", ", same->id);
        text += fmt::format(": {}{}\n", one->text, one->is_archived ? " (in the archive)" : "");
        if (!one->row.empty()) text += "    " + one->row + "\n";
        one = end;
    }
    return text;
}

std::string verdict_of(const root_report& found) {
    const root_faults& faults = found.verified->faults;
    if (found.is_sound())
        return "sound     every object is what the root commits to, and there is no other\n";
    if (faults.total() == 0)
        return "stale     nothing is wrong, but the root is not that of this revision\n";
    std::vector<std::string> counts;
    for (std::size_t number = 0; number < root_faults::kinds; ++number)
        if (const auto count = faults.count(static_cast<root_fault::kind>(number)); count != 0)
            counts.push_back(fmt::format("{} {}", grouped(count), root_fault::names[number]));
    std::string text = fmt::format("damaged   {}\n", fmt::join(counts, ", "));
    // Messages about unreadable objects already say what to do.
    if (faults.total() != faults.count(root_fault::kind::unreadable))
        text += "          what to do: `chainbase-inspect check` says whether the objects are "
                "sound; if they are,\n          make the root anew (chainbase-driver: "
                "--state-root none, and in a second call the types as before)\n";
    return text;
}

std::string verified_text(const root_report& found) {
    const root_report::verification& all = *found.verified;
    std::string text =
        fmt::format("verified  {} objects, of which {} are in the archive only; {} nodes\n",
                    grouped(all.objects), grouped(all.archived_objects), grouped(all.nodes)) +
        verdict_of(found);
    if (all.faults.total() != 0) text += "\n";
    for (std::size_t number = 0; number < root_faults::kinds; ++number)
        text += faults_text(all.faults.named(static_cast<root_fault::kind>(number)));
    return text;
}

std::string as_text(const root_report& found, const std::string& state) {
    std::string text = head_of(found, state);
    if (found.has_moved) return text;
    if (found.verified) text += verified_text(found);
    return text + "\n" + types_text(found) + "\n" + children_of(found) + "\n" +
           capacities_of(found) + "\n" + sizes_text(found);
}

struct root_call : state_call {
    root_report::question question;
};

exit_code run_root(const root_call& asked) {
    const root_report found = root_report::of(asked.state, asked.question);
    warn_if_rolled_back(found.is_rolled_back, asked.state, found.revision);
    print_or_throw(asked.json ? as_json(found, asked.state) : as_text(found, asked.state));
    if (found.has_moved) {
        spdlog::error("{}: its writer changed it each time that its nodes were read, so only the "
                      "root is shown; read its newest checkpoint ({}@checkpoint), or call again "
                      "when its writer is idle",
                      asked.state, asked.state);
        return exit_code::moved;
    }
    return !found.verified || found.is_sound() ? exit_code::done : exit_code::damaged;
}

} // namespace

void declare_root(command& verb) {
    const auto asked = declare_look<root_call>(verb, run_root);
    asked->question.threads = std::max(1U, std::thread::hardware_concurrency());
    verb.add_flag("--verify", asked->question.verify,
                  "Compute every digest again from the objects, and list what differs from the "
                  "root");
    verb.add_option("--limit", asked->question.limit, "Faults to list of each kind at most; 0: all")
        .shows_default()
        .whole_number(0, UINT64_MAX);
    verb.add_option("--threads", asked->question.threads,
                    "Threads that verify; default: one for each processor")
        .whole_number(1, 1024);
    verb.add_flag("--json", asked->json, "Print one JSON object");
}

} // namespace chainbase::inspect
