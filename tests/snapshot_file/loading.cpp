// A snapshot is loaded as what it says, or not at all, whoever wrote it.

#include <archive/record/record.hpp>
#include <chainbase/database.hpp>
#include <chainbase/index.hpp>
#include <chainbase/object/schema_of.hpp>
#include <chainbase/offline/snapshot_file/loading.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <tests/support/scratch_state.hpp>

#include <filesystem>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::snapshot_file;
using Catch::Matchers::Contains;
using test::quick_options;
using test::scratch_folder;

namespace {

struct by_number;

struct thing {
    chainbase::id<thing> id;
    std::uint32_t number = 0;

    using keys = chainbase::keys<hashed_unique<by_number, &thing::number>>;
};
BOOST_DESCRIBE_STRUCT(thing, (), (id, number))

struct row_of_thing {
    std::uint32_t id; ///< of the row
    thing object;
    bool is_archived = false;
};

thing thing_of(std::uint32_t id, std::uint32_t number) {
    thing one;
    one.id = chainbase::id<thing>(id);
    one.number = number;
    return one;
}

/// Writes a snapshot of such rows, whose manifest agrees with itself.
void write(const std::filesystem::path& folder, const std::vector<row_of_thing>& rows) {
    chunk_content content;
    type_entry type;
    type.schema = schema_of<thing>("thing");
    type.schema.root_bytes = object_index<thing>::root_bytes;
    for (const row_of_thing& row : rows) {
        archive::byte_buffer record;
        archive::encode(row.object, record);
        archive::byte_buffer no_keys(sizeof(std::uint16_t));
        content.add({row.id, record, row.is_archived,
                     row.is_archived ? archive::bytes_view(no_keys) : archive::bytes_view()});
        if (row.is_archived) type.row_layout = archive::record_fingerprint<thing>;
    }
    type.objects = content.objects();
    type.archived = content.archived();
    type.next_id = rows.back().id + 1;
    type.height = tree_height(rows.back().id);
    folder_writer to(folder);
    type.chunks.push_back(to.put(piece::of({0, type.height}, std::move(content))));
    type.root = type.computed_root();
    manifest all;
    all.revision = 7;
    all.archive = type.archived != 0 ? "rocksdb" : "";
    all.types.push_back(type);
    to.finish(all);
}

loading_result load_to(const std::filesystem::path& from, const std::filesystem::path& state) {
    loading_options how;
    how.limits.memory_folder = "none";
    how.limits.window_bytes = quick_options().window_bytes;
    return load(folder_reader(from), state, how);
}

} // namespace

TEST_CASE("rows become objects with their keys, or rows of the archive") {
    const scratch_folder folder;
    write(folder.path() / "snapshot",
          {{3, thing_of(3, 30)}, {5, thing_of(5, 50), true}, {9, thing_of(9, 90)}});
    const loading_result made = load_to(folder.path() / "snapshot", folder.path() / "state");
    REQUIRE(made.objects == 2);
    REQUIRE(made.archived == 1);
    database state(folder.path() / "state", quick_options());
    state.add_type<thing>("thing");
    REQUIRE(state.revision() == 7);
    REQUIRE(state.get<thing, by_number>(90U).id.value == 9);
    REQUIRE(state.find(chainbase::id<thing>(5)) == nullptr);
}

TEST_CASE("a row whose record is of another object is refused") {
    const scratch_folder folder;
    const bool is_archived = GENERATE(false, true);
    write(folder.path() / "snapshot",
          {{3, thing_of(3, 30)}, {4, thing_of(6, 60), is_archived}, {9, thing_of(9, 90)}});
    REQUIRE_THROWS_WITH(load_to(folder.path() / "snapshot", folder.path() / "state"),
                        Contains("row of id 4") && Contains("object 6"));
}

TEST_CASE("two rows with one unique key are refused by their names") {
    const scratch_folder folder;
    write(folder.path() / "snapshot", {{3, thing_of(3, 30)}, {4, thing_of(4, 30)}});
    REQUIRE_THROWS_WITH(load_to(folder.path() / "snapshot", folder.path() / "state"),
                        Contains("thing.by_number"));
    const auto said = dry_run(folder_reader(folder.path() / "snapshot"), {});
    REQUIRE(said.size() == 1);
    CHECK(said[0].failing == 1);
    CHECK(said[0].first_failure == "thing.by_number: objects 3 and 4 have the same key");
}

TEST_CASE("a row of the archive with the unique key of an object is no failure") {
    const scratch_folder folder;
    write(folder.path() / "snapshot", {{3, thing_of(3, 30)}, {4, thing_of(4, 30), true}});
    CHECK(dry_run(folder_reader(folder.path() / "snapshot"), {})[0].failing == 0);
    CHECK_NOTHROW(load_to(folder.path() / "snapshot", folder.path() / "state"));
}

TEST_CASE("loading tells how far it is up to the end, and can be ended in each part") {
    const scratch_folder folder;
    write(folder.path() / "snapshot", {{3, thing_of(3, 30)}, {4, thing_of(4, 40), true}});
    const folder_reader from(folder.path() / "snapshot");
    std::vector<std::uint64_t> told;
    std::size_t most = 100;
    loading_options how;
    how.limits.memory_folder = "none";
    how.limits.window_bytes = quick_options().window_bytes;
    how.tell = [&](std::uint64_t done, std::uint64_t all) {
        REQUIRE(all == 2 * from.manifest().bytes()); // for objects, and for rows
        told.push_back(done);
        if (told.size() == most) throw std::runtime_error("that is enough");
    };
    static_cast<void>(load(from, folder.path() / "whole", how));
    const std::uint64_t half = from.manifest().bytes();
    REQUIRE(told == std::vector{half, half, 2 * half}); // objects, the key, rows
    for (const std::size_t end : {1, 2, 3}) {
        told.clear();
        most = end;
        REQUIRE_THROWS_AS(load(from, folder.path() / std::to_string(end), how), std::runtime_error);
    }
}

TEST_CASE("a state is not made in the folder of its snapshot") {
    const scratch_folder folder;
    const auto snapshot = folder.path() / "snapshot";
    write(snapshot, {{3, thing_of(3, 30)}});
    for (const auto& state : {snapshot / "state", snapshot / "chunks/../x", snapshot})
        REQUIRE_THROWS_WITH(load_as(folder_reader(snapshot), state, {}),
                            Contains("lies within the snapshot"));
}
