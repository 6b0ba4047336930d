#include <archive/rocksdb/store.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/assets.hpp>
#include <tools/inspect/escaped.hpp>
#include <tools/inspect/memory/memory_tree.hpp>
#include <tools/inspect/output_file.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/print.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::inspect {

namespace fs = std::filesystem;

namespace {

/// The path of node names for a file's bytes.
using place = std::vector<std::string>;

/// A column family with a path: "table/comment".
place place_of(const archive::rocksdb_file& file) {
    place way;
    for (const fs::path& part : fs::path(file.family))
        way.push_back(part.string());
    way.push_back("level " + std::to_string(file.level));
    return way;
}

std::map<std::string, place> places_in(const fs::path& archive) {
    std::map<std::string, place> places;
    try {
        for (const archive::rocksdb_file& file : archive::rocksdb_files_in(archive))
            places[file.name] = place_of(file);
    } catch (const error&) { // the files still count
        places.clear();
    }
    return places;
}

memory_node& child_of(memory_node& node, const std::string& name) {
    for (memory_node& each : node.children)
        if (each.name == name) return each;
    node.children.push_back({name, 0, 0, {}});
    return node.children.back();
}

/// Adds a file's bytes to a node below, and to all nodes on the path.
void add_at(memory_node& node, const place& way, std::size_t step, const memory_node& file) {
    node.bytes += file.bytes;
    node.held += file.held;
    if (step < way.size()) add_at(child_of(node, way[step]), way, step + 1, file);
}

fs::path rocksdb_folder(const fs::path& state) {
    return state / "archive" / "rocksdb";
}

/// The RocksDB folder of a state's archive: its column families with their levels, its log files,
/// and each other file. Sums all its files, known or not: files of no current family (a writer
/// makes or drops them) are listed singly, and so are all when the archive is unreadable.
memory_node rocksdb_tree(const fs::path& state) {
    const std::map<std::string, place> places = places_in(state / "archive");
    memory_node node{"rocksdb", 0, 0, {}};
    for (const fs::directory_entry& each : fs::directory_iterator(rocksdb_folder(state))) {
        const memory_node file = file_node(each.path());
        if (file.bytes == 0) continue;
        const auto known = places.find(file.name);
        if (known != places.end())
            add_at(node, known->second, 0, file);
        else if (each.path().extension() == ".log")
            add_at(node, {"log files", file.name}, 0, file);
        else
            add_at(node, {file.name}, 0, file);
    }
    return node;
}

memory_node named(std::string name) {
    return {std::move(name), 0, 0, {}};
}

memory_node leaf(std::string name, std::uint64_t bytes) {
    return {std::move(name), bytes, bytes, {}};
}

/// `values`: the name of the live bytes.
memory_node parts_of(std::string name, const measured& memory, const char* values) {
    const usage& bytes = memory.bytes;
    memory_node node = named(std::move(name));
    node.add(leaf(values, bytes.values));
    node.add(leaf("links", bytes.links));
    node.add(leaf("slack", bytes.slack));
    node.add(leaf("header", bytes.header));
    node.add({"punched", bytes.punched, 0, {}});
    return node;
}

/// The parts of the objects are siblings of their lookup tables.
memory_node tree_of(const type_report& type) {
    memory_node node = parts_of(type.name, type.nodes, "values");
    node.add(parts_of("ids", type.ids, "values"));
    node.add(parts_of("tables", type.tables, "values"));
    return node;
}

memory_node types_of(const state_report& state) {
    memory_node types = named("types");
    for (const type_report& each : state.types)
        types.add(tree_of(each));
    return types;
}

memory_node buffers_of(const state_report& state) {
    memory_node buffers = named("buffers");
    for (const buffer_report& each : state.buffers)
        buffers.add(parts_of(each.name, each.memory, "values"));
    return buffers;
}

/// The files directly in a folder, except those named in `known`.
void add_files(memory_node& to, const fs::path& folder, const std::set<std::string>& known) {
    for (const fs::directory_entry& each : fs::directory_iterator(folder))
        if (!known.contains(each.path().filename().string())) to.add(file_node(each.path()));
}

bool is_folder(const fs::path& path) {
    std::error_code gone;
    return fs::is_directory(fs::symlink_status(path, gone));
}

/// Of the state's folder, or one in it, without its segment.
memory_node tree_of_folder(const fs::path& folder, const state_report& state) {
    if (folder == rocksdb_folder(state.state)) return rocksdb_tree(state.state);
    memory_node node = named(folder.filename().string());
    for (const fs::directory_entry& each : fs::directory_iterator(folder)) {
        if (each.path() == state.segment) continue;
        node.add(is_folder(each.path()) ? tree_of_folder(each.path(), state)
                                        : file_node(each.path()));
    }
    return node;
}

/// The names of the files covered by the report.
std::set<std::string> mapped_files(const state_report& state) {
    std::set<std::string> names{"header", "undo_log"};
    for (const buffer_report& each : state.buffers)
        names.insert(each.name);
    for (const type_report& each : state.types) {
        names.insert(each.name + ".objects");
        names.insert(each.name + ".ids");
        for (std::size_t number = 0; number < each.keys.size(); ++number)
            for (const char* kind : {".hash", ".btree"})
                names.insert(each.name + "." + std::to_string(number) + kind);
    }
    return names;
}

memory_node segment_of(const state_report& state) {
    memory_node segment = named("segment");
    segment.add(types_of(state));
    segment.add(buffers_of(state));
    segment.add(parts_of("undo_log", state.log, "records"));
    segment.add(leaf("header", state.header.bytes.total));
    add_files(segment, state.segment, mapped_files(state));
    return segment;
}

void sort(memory_node& node) {
    std::ranges::sort(node.children, [](const memory_node& a, const memory_node& b) {
        return a.bytes != b.bytes ? a.bytes > b.bytes : a.name < b.name;
    });
    for (memory_node& each : node.children)
        sort(each);
}

} // namespace

memory_node file_node(const fs::path& path) {
    struct stat found{};
    if (::lstat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode))
        return named(path.filename().string());
    const auto length = static_cast<std::uint64_t>(found.st_size);
    const auto blocks = static_cast<std::uint64_t>(found.st_blocks) * 512;
    return {path.filename().string(), length, std::min(length, blocks), {}};
}

void memory_node::add(memory_node child) {
    if (child.bytes == 0) return;
    bytes += child.bytes;
    held += child.held;
    children.push_back(std::move(child));
}

memory_node memory_tree(const state_report& state) {
    memory_node root = tree_of_folder(state.state, state);
    root.name = "state";
    root.add(segment_of(state));
    sort(root);
    return root;
}

static json report_value(const memory_node& node) {
    json all = {{"name", node.name}, {"bytes", node.bytes}, {"held", node.held}};
    if (!node.children.empty()) all["children"] = json_of(node.children);
    return all;
}

namespace {

/// A folder is an array that begins with its own properties; a file is an object.
json to_ncdu(const memory_node& node, const std::string& name) {
    if (node.children.empty()) return {{"name", name}, {"asize", node.bytes}, {"dsize", node.held}};
    json all = json::array({{{"name", name}}});
    for (const memory_node& each : node.children)
        all.push_back(to_ncdu(each, each.name));
    return all;
}

/// Replaces characters with a meaning in a folded stack.
std::string frame_of(const std::string& name) {
    std::string frame = valid_utf8(name);
    std::ranges::replace(frame, ';', ':');
    std::ranges::replace_if(
        frame, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7F; }, '_');
    return frame;
}

void fold(const memory_node& node, const std::string& above, std::string& to) {
    const std::string stack = above + frame_of(node.name);
    if (node.children.empty()) to += fmt::format("{} {}\n", stack, node.bytes);
    for (const memory_node& each : node.children)
        fold(each, stack + ";", to);
}

constexpr std::size_t bar_width = 20;

struct line {
    std::string branches; ///< the lines in front of the name
    std::size_t depth = 0;
    const memory_node* node = nullptr;

    /// Every branch takes three columns, whatever its bytes.
    [[nodiscard]] std::size_t columns() const { return 3 * depth + node->name.size(); }
};

void add_lines(const memory_node& node, const std::string& branches, std::size_t depth,
               std::vector<line>& to) {
    for (const memory_node& each : node.children) {
        const bool is_last = &each == &node.children.back();
        to.push_back({branches + (is_last ? "└─ " : "├─ "), depth, &each});
        add_lines(each, branches + (is_last ? "   " : "│  "), depth + 1, to);
    }
}

/// Escapes `</script` and `<!--`, which have a meaning within a script element of any type; JSON
/// has `<` only in strings.
std::string within_script(const std::string& json) {
    std::string safe;
    for (const char c : json)
        if (c == '<')
            safe += "\\u003c";
        else
            safe += c;
    return safe;
}

struct tree_call : state_call {
    std::string html;
    bool ncdu = false;
    bool folded = false;
};

void tell(const tree_call& asked, const state_tree& found) {
    if (!asked.html.empty())
        return output_file(asked.html, {found.state.state, found.state.segment})
            .write(as_html(found));
    if (asked.ncdu) return print_or_throw(as_ncdu(found));
    if (asked.folded) return print_or_throw(as_folded(found));
    print_or_throw(asked.json ? as_json(found) : as_text(found));
}

exit_code run_tree(const tree_call& asked) {
    state_tree found{read_state(asked.state), {}};
    found.root = memory_tree(found.state);
    tell(asked, found);
    if (found.state.condition != condition::closed || found.state.consistent)
        return exit_code::done;
    spdlog::error("{}: the state is closed, but its counts differ from what its files hold; "
                  "`stat` says more",
                  asked.state);
    return exit_code::failed;
}

} // namespace

std::string as_json(const state_tree& found) {
    return lines_of({{"schema_version", 1},
                     {"state", found.state.state.string()},
                     {"segment", found.state.segment.string()},
                     {"condition", to_string(found.state.condition)},
                     {"consistent", found.state.consistent},
                     {"discrepancies", found.state.discrepancies},
                     {"bytes", found.root.bytes},
                     {"tree", json_of(found.root)}});
}

std::string as_ncdu(const state_tree& found) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const json about = {
        {"progname", "chainbase-inspect"},
        {"progver", "1"},
        {"timestamp", std::chrono::duration_cast<std::chrono::seconds>(now).count()}};
    const std::string top = std::filesystem::absolute(found.state.state).string();
    return line_of(json::array({1, 2, about, to_ncdu(found.root, top)})) + "\n";
}

std::string as_folded(const state_tree& found) {
    std::string all;
    fold(found.root, "", all);
    return all;
}

std::string as_text(const state_tree& found) {
    std::vector<line> lines{{"", 0, &found.root}};
    add_lines(found.root, "", 1, lines);
    std::size_t columns = 0;
    for (const line& each : lines)
        columns = std::max(columns, each.columns());
    std::string text;
    for (const line& each : lines) {
        const double percent = percent_of(each.node->bytes, found.root.bytes);
        std::string one =
            fmt::format("{}{}{:{}}  {:>15}  {:>5.1f} %  {}", each.branches, each.node->name, "",
                        columns - each.columns(), bytes_in_words(each.node->bytes), percent,
                        bar_of(percent / 100, bar_width, true));
        one.erase(one.find_last_not_of(' ') + 1);
        text += one + "\n";
    }
    if (found.state.consistent) return text;
    return text + "\nread while it changed: the sums may differ a little from those of the files\n";
}

std::string as_html(const state_tree& found) {
    std::string page(treemap_page);
    const auto fill = [&page](std::string_view place, const std::string& content) {
        page.replace(page.find(place), place.size(), content);
    };
    // The page cannot import a module.
    std::string layout(web_treemap_js);
    constexpr std::string_view exported = "export ";
    layout.erase(layout.find(exported), exported.size());
    fill("@TREEMAP@", layout);
    fill("@DATA@", within_script(as_json(found)));
    return page;
}

void declare_tree(command& verb) {
    const auto asked = declare_look<tree_call>(verb, run_tree);
    verb.at_most_one({
        verb.add_option("--html", asked->html, "Write a page with a treemap to this file")
            .value_name("FILE"),
        verb.add_flag("--ncdu", asked->ncdu, "Print what `ncdu -f -` reads"),
        verb.add_flag("--folded", asked->folded, "Print folded stacks, for flame graphs"),
        verb.add_flag("--json", asked->json, "Print one JSON object"),
    });
}

} // namespace chainbase::inspect
