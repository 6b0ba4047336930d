// The archive in the tree: its files by column family and level, and never a byte too many.

#include <tools/inspect/memory/memory_tree.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/archived_notes.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/unchanged.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/staying_process.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using inspect::memory_node;

namespace fs = std::filesystem;

namespace {

memory_node tree_of(const fs::path& state) {
    return inspect::memory_tree(inspect::read_state(state));
}

const memory_node& at(const memory_node& node, const std::string& name) {
    INFO(name);
    const auto found = std::ranges::find(node.children, name, &memory_node::name);
    REQUIRE(found != node.children.end());
    return *found;
}

std::set<std::string> names_in(const memory_node& node) {
    std::set<std::string> names;
    for (const memory_node& each : node.children)
        names.insert(each.name);
    return names;
}

std::uint64_t leaves_of(const memory_node& node) {
    if (node.children.empty()) return node.bytes;
    std::uint64_t sum = 0;
    for (const memory_node& each : node.children)
        sum += leaves_of(each);
    REQUIRE(sum == node.bytes);
    return sum;
}

/// Of the files below a folder, or of those of one kind.
std::uint64_t bytes_below(const fs::path& folder, const std::string& kind = "") {
    std::uint64_t sum = 0;
    for (const auto& each : fs::recursive_directory_iterator(folder))
        if (each.is_regular_file() && (kind.empty() || each.path().extension() == kind))
            sum += each.file_size();
    return sum;
}

fs::path first_table_file(const fs::path& state) {
    for (const auto& each : fs::directory_iterator(state / "archive/rocksdb"))
        if (each.path().extension() == ".sst") return each.path();
    FAIL("no table file");
    return {};
}

} // namespace

TEST_CASE("tree: an archive on disk by families and levels, log files, the rest") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    prepare(state);
    build_notes(state);
    std::ofstream(state / "archive/rocksdb/000999.sst") << "of no family";
    std::ofstream(state / "archive/rocksdb/000998.log") << "of a writer that died";
    const folder_image before = image_of(state);
    const memory_node root = tree_of(state);
    CHECK(image_of(state) == before);
    CHECK(leaves_of(root) == bytes_below(state));
    const memory_node& archive = at(root, "archive");
    CHECK(archive.bytes == bytes_below(state / "archive"));
    const memory_node& rocksdb = at(archive, "rocksdb");
    CHECK(rocksdb.bytes == bytes_below(state / "archive/rocksdb"));
    const memory_node& notes = at(at(rocksdb, "table"), "note");
    CHECK(at(notes, "level 0").bytes == notes.bytes);
    CHECK(notes.held <= notes.bytes);
    CHECK(at(rocksdb, "000999.sst").bytes == 12);
    CHECK(notes.bytes + at(rocksdb, "default").bytes + 12 ==
          bytes_below(state / "archive/rocksdb", ".sst"));
    CHECK(at(at(rocksdb, "log files"), "000998.log").bytes == 21);
    CHECK(at(rocksdb, "log files").bytes == bytes_below(state / "archive/rocksdb", ".log"));
    CHECK(names_in(rocksdb).contains("CURRENT"));
    CHECK(names_in(archive).contains("format"));
}

TEST_CASE("tree: the families are those that archive tells of") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    prepare(state);
    build_notes(state);
    const outcome result = inspect_with("archive " + state.string() + " --json");
    REQUIRE(result.code == 0);
    const auto told = nlohmann::json::parse(result.output);
    const memory_node rocksdb = at(at(tree_of(state), "archive"), "rocksdb");
    for (const auto& family : told.at("rocksdb").at("families"))
        if (family.at("name") == "table/note")
            CHECK(family.at("file_bytes") == at(at(rocksdb, "table"), "note").bytes);
}

TEST_CASE("tree: an archive that cannot be read is its files") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    prepare(state);
    build_notes(state);
    const fs::path file = first_table_file(state);
    std::ofstream(state / "archive/rocksdb/CURRENT") << "nonsense\n";
    const memory_node root = tree_of(state);
    CHECK(leaves_of(root) == bytes_below(state));
    const memory_node& rocksdb = at(at(root, "archive"), "rocksdb");
    CHECK(at(rocksdb, file.filename().string()).bytes == fs::file_size(file));
    CHECK_FALSE(names_in(rocksdb).contains("table"));
    CHECK(inspect_with("tree " + state.string() + " >/dev/null").code == 0);
}

TEST_CASE("tree: other kinds of archive have no families") {
    for (const auto kind : {archive::store_kind::memory, archive::store_kind::none}) {
        const scratch_folder scratch;
        const auto state = scratch / "state";
        prepare(state);
        build_notes(state, kind);
        const memory_node root = tree_of(state);
        CHECK(leaves_of(root) == bytes_below(state));
        CHECK(names_in(at(root, "archive")).contains("format"));
        CHECK_FALSE(names_in(at(root, "archive")).contains("rocksdb"));
    }
}

TEST_CASE("tree: beside a writer of the archive its sums hold") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    prepare(state);
    const staying_process writer([&](const auto& ready) {
        database db(state, small_state());
        db.add_type<note>("note");
        const auto rows = archive::open_archive(db, state / "archive");
        notes all(db, *rows, "note");
        write(db, "author", "title", 1);
        all.retire(db.get(id<note>(0)));
        all.hand_over(db.committed_revision());
        rows->sync();
        ready();
    });
    for (int times = 0; times < 5; ++times) {
        const memory_node root = tree_of(state);
        leaves_of(root);
        CHECK(at(at(at(root, "archive"), "rocksdb"), "log files").bytes > 0);
    }
}
