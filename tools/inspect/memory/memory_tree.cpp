#include <tools/inspect/archive/archive_tree.hpp>
#include <tools/inspect/memory/memory_tree.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

namespace chainbase::inspect {

namespace fs = std::filesystem;

namespace {

memory_node named(std::string name) {
    return {std::move(name), 0, 0, {}};
}

memory_node leaf(std::string name, std::uint64_t bytes) {
    return {std::move(name), bytes, bytes, {}};
}

/// `values`: what the bytes are called that are of use.
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

/// The parts of the objects are siblings of the tables that find them.
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

/// The files that are directly in a folder, but those called as one of `known`.
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

/// The names of the files that the report has figures of.
std::set<std::string> mapped_files(const state_report& state) {
    std::set<std::string> names{"header", "undo_log"};
    for (const buffer_report& each : state.buffers)
        names.insert(each.name);
    for (const type_report& each : state.types) {
        names.insert(each.name + ".objects");
        names.insert(each.name + ".ids");
        for (std::size_t table = 0; table < each.keys.size(); ++table)
            names.insert(each.name + "." + std::to_string(table) + ".hash");
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

} // namespace chainbase::inspect
