#include <archive/rocksdb_store.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/archive/archive_tree.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::inspect {

namespace fs = std::filesystem;

namespace {

/// The way to the node that a file's bytes belong to.
using place = std::vector<std::string>;

/// A family is called as a path: "table/comment".
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
    } catch (const error&) { // files are files all the same
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

/// Adds a file's bytes to a node below, and to all on the way there.
void add_at(memory_node& node, const place& way, std::size_t step, const memory_node& file) {
    node.bytes += file.bytes;
    node.held += file.held;
    if (step < way.size()) add_at(child_of(node, way[step]), way, step + 1, file);
}

} // namespace

fs::path rocksdb_folder(const fs::path& state) {
    return state / "archive" / "rocksdb";
}

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

} // namespace chainbase::inspect
