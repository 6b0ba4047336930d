// A snapshot is loaded as what it says, or not at all, whoever wrote it.

#include <archive/open_archive.hpp>
#include <archive/record/record.hpp>
#include <chainbase/database.hpp>
#include <chainbase/index.hpp>
#include <chainbase/object/schema_of.hpp>
#include <chainbase/offline/check/state_check.hpp>
#include <chainbase/offline/snapshot_file/loading.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/unfinished_name.hpp>

#include <catch2/catch.hpp>
#include <tests/support/captured_log.hpp>
#include <tests/support/child_process.hpp>
#include <tests/support/scratch_state.hpp>

#include <csignal>
#include <filesystem>
#include <string>
#include <utility>
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
    shared_string text;

    using keys = chainbase::keys<hashed_unique<by_number, &thing::number>>;
};
BOOST_DESCRIBE_STRUCT(thing, (), (id, number, text))

struct row_of_thing {
    std::uint32_t id; ///< of the row
    thing object;
    bool is_archived = false;
};

thing thing_of(std::uint32_t id, std::uint32_t number) {
    thing one;
    one.id = chainbase::id<thing>(id);
    one.number = number;
    one.text = "thing " + std::to_string(number);
    return one;
}

using types_and_rows = std::vector<std::pair<std::string, std::vector<row_of_thing>>>;

/// Writes a snapshot of such rows, whose manifest agrees with itself.
void write(const std::filesystem::path& folder, const types_and_rows& types) {
    folder_writer to(folder);
    manifest all;
    all.revision = 7;
    for (const auto& [name, rows] : types) {
        chunk_content content;
        type_entry type;
        type.schema = schema_of<thing>(name);
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
        type.chunks.push_back(to.put(piece::of({0, type.height}, std::move(content))));
        type.root = type.computed_root();
        if (type.archived != 0) all.archive = "rocksdb";
        all.types.push_back(type);
    }
    to.finish(all);
}
void write(const std::filesystem::path& folder, const std::vector<row_of_thing>& rows) {
    write(folder, types_and_rows{{"thing", rows}});
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

// --- what a killed load left ---

namespace {

namespace fs = std::filesystem;
using test::run_process;

loading_options often_kept(const fs::path& memory) {
    loading_options how;
    how.limits.memory_folder = memory;
    how.limits.window_bytes = quick_options().window_bytes;
    how.keep_interval = std::chrono::milliseconds(0);
    return how;
}

/// Objects of two types, and rows of the archive of two; some of the rows have the ids of others'
/// objects.
types_and_rows some_types(std::uint32_t from = 0) {
    types_and_rows all;
    for (const char* name : {"a", "b", "c"}) {
        auto& rows = all.emplace_back(name, std::vector<row_of_thing>()).second;
        for (std::uint32_t id = from; id < from + 500; ++id)
            rows.push_back({id, thing_of(id, 3 * id + static_cast<unsigned>(*name - 'a')),
                            *name != 'a' && id % 3 == 1});
    }
    return all;
}
types_and_rows objects_only() {
    types_and_rows all = some_types();
    for (auto& [name, rows] : all)
        for (row_of_thing& row : rows)
            row.is_archived = false;
    return all;
}

void require(bool holds, const std::string& what) {
    if (!holds) throw std::runtime_error(what);
}

/// Requires that exactly these objects and rows are there.
void require_whole(const fs::path& folder, const types_and_rows& all) {
    require(check::state_check(folder).report().found_in_all() == 0, "the state is not sound");
    for (const auto& [name, rows] : all) {
        database state(folder, test::with_checkpoints());
        require(state.revision() == 7, "another revision");
        state.add_type<thing>(name);
        std::unique_ptr<archive::store> store;
        if (fs::exists(folder / "archive"))
            store = archive::open_archive(state, folder / "archive");
        std::uint64_t archived = 0;
        for (const row_of_thing& row : rows) {
            const thing* const found = state.find(row.object.id);
            require((found != nullptr) != row.is_archived, name + " is in another place");
            if (found) {
                require(found->text.view() == row.object.text.view(), name + " has another text");
                require(&state.get<thing, by_number>(row.object.number) == found, "another key");
                continue;
            }
            ++archived;
            const archive::table_id table = store->open_table(name);
            require(store->count(table) != 0 && store->find(table, row.id), name + " has no row");
        }
        if (archived != 0)
            require(store->count(store->open_table(name)) == archived, "other rows of " + name);
        else
            require(state.types().front().objects == rows.size() || all.size() > 1, name);
        state.close();
    }
}

[[noreturn]] void die() {
    static_cast<void>(raise(SIGKILL));
    std::abort();
}

/// A load that is killed when types were kept for the `nth` time.
void kill_when_kept(const fs::path& snapshot, const fs::path& state, loading_options how,
                    int nth = 1) {
    how.on_kept = [&] {
        if (--nth == 0) die();
    };
    const auto ended =
        run_process([&] { static_cast<void>(load_as(folder_reader(snapshot), state, how)); });
    REQUIRE(ended.killed);
    REQUIRE(!fs::exists(state));
    REQUIRE(fs::exists(unfinished_path(state)));
}

/// So that it cannot be read again.
void remove_chunk_of(const fs::path& snapshot, const std::string& type) {
    const folder_reader from(snapshot);
    for (const chunk_entry& one : from.manifest().find(type)->chunks)
        REQUIRE(fs::remove(snapshot / "chunks" / hex(one.digest)));
}

std::vector<std::string> names_in_folder(const fs::path& folder) {
    std::vector<std::string> names;
    for (const auto& one : fs::directory_iterator(folder))
        names.push_back(one.path().filename());
    std::ranges::sort(names);
    return names;
}

} // namespace

TEST_CASE("a load that is killed at any step ends as one that was not, called again") {
    const scratch_folder folder;
    const fs::path snapshot = folder.path() / "snapshot";
    const fs::path state = folder.path() / "state";
    const fs::path memory = folder.path() / "memory";
    fs::create_directory(memory);
    write(snapshot, some_types());
    loading_options how = often_kept(GENERATE(false, true) ? memory : fs::path("none"));
    how.archive = GENERATE("rocksdb", "memory");
    const bool is_killed_twice = GENERATE(false, true);
    const auto load_until = [&](int last) {
        const auto call = [&] {
            int left = last;
            loading_options until = how;
            until.tell = [&](std::uint64_t, std::uint64_t) {
                if (--left == 0) die();
            };
            static_cast<void>(load_as(folder_reader(snapshot), state, until));
        };
        return run_process(call).killed;
    };
    int steps = 1;
    for (; load_until(steps); ++steps) {
        CAPTURE(steps);
        REQUIRE(!fs::exists(state));
        if (is_killed_twice && load_until(steps + 1)) continue; // goes on in the next round
        if (!is_killed_twice) REQUIRE(!load_until(1000));
        static_cast<void>(run_process([&] { require_whole(state, some_types()); }));
        REQUIRE(names_in_folder(folder.path()) ==
                std::vector<std::string>{"memory", "snapshot", "state"});
        fs::remove_all(state);
        fs::remove_all(memory);
        fs::create_directory(memory);
    }
    REQUIRE(steps > 5);
    static_cast<void>(run_process([&] { require_whole(state, some_types()); }));
}

TEST_CASE("types that were loaded whole are not read again, and rows of the archive neither") {
    const scratch_folder folder;
    const fs::path snapshot = folder.path() / "snapshot";
    const fs::path state = folder.path() / "state";
    const loading_options how = often_kept("none");
    SECTION("objects") {
        write(snapshot, objects_only());
        kill_when_kept(snapshot, state, how, 2);
        remove_chunk_of(snapshot, "a");
        remove_chunk_of(snapshot, "b");
        static_cast<void>(run_process([&] {
            const auto done = load_as(folder_reader(snapshot), state, how);
            require(done.objects == 1500 && done.revision == 7, "other counts");
        }));
        static_cast<void>(run_process([&] { require_whole(state, objects_only()); }));
    }
    SECTION("rows") {
        write(snapshot, some_types());
        const auto bytes = folder_reader(snapshot).manifest().bytes();
        const auto of_b = folder_reader(snapshot).manifest().find("b")->chunks.front().bytes;
        loading_options until = how;
        until.tell = [&](std::uint64_t done, std::uint64_t) {
            if (done > bytes + of_b) die(); // within c
        };
        const auto call = [&] {
            static_cast<void>(load_as(folder_reader(snapshot), state, until));
        };
        REQUIRE(run_process(call).killed);
        remove_chunk_of(snapshot, "a");
        remove_chunk_of(snapshot, "b");
        static_cast<void>(run_process([&] {
            const auto done = load_as(folder_reader(snapshot), state, how);
            require(done.archived == 334, "another count of rows");
        }));
        static_cast<void>(run_process([&] { require_whole(state, some_types()); }));
    }
}

TEST_CASE("a key of a removed object leads to the rows of all that had it") {
    const scratch_folder folder;
    const fs::path snapshot = folder.path() / "snapshot";
    const std::string kind = GENERATE("rocksdb", "memory");
    const archive::byte_buffer key(4, std::byte{7});
    const auto content_of = [&](std::initializer_list<std::uint32_t> ids) {
        chunk_content content;
        for (const std::uint32_t id : ids) {
            archive::byte_buffer record;
            archive::encode(thing_of(id, 7), record);
            archive::write_batch stored;
            const archive::secondary_key keys[] = {{0, key}};
            stored.put(archive::table_id{0}, id, record, keys);
            content.add({id, record, true, stored[0].row().subspan(record.size())});
        }
        return content;
    };
    {
        folder_writer to(snapshot);
        manifest all;
        all.archive = kind;
        type_entry& type = all.types.emplace_back();
        type.schema = schema_of<thing>("thing");
        type.schema.root_bytes = object_index<thing>::root_bytes;
        type.row_layout = archive::record_fingerprint<thing>;
        type.archive_keys = {"by_number"};
        type.objects = type.archived = 1;
        type.next_id = 10;
        type.height = tree_height(9);
        type.chunks.push_back(to.put(piece::of({0, type.height}, content_of({9}))));
        type.removed.push_back(to.put(piece::of({0, tree_height(5)}, content_of({2, 5}))));
        type.root = type.computed_root();
        to.finish(all);
    }
    REQUIRE(load_to(snapshot, folder.path() / "state").archived == 3);
    database state(folder.path() / "state", quick_options());
    const auto store = archive::open_archive(state, folder.path() / "state/archive");
    const archive::table_id table = store->open_table("thing", {"by_number"});
    for (const std::uint32_t id : {2U, 5U, 9U}) {
        const auto counts = [&](std::uint32_t row) { return row == id; };
        CHECK(store->find(table, 0, key, counts).has_value());
    }
}

TEST_CASE("rows of a type that was half in the archive are there once") {
    const scratch_folder folder;
    const fs::path snapshot = folder.path() / "snapshot";
    const fs::path state = folder.path() / "state";
    types_and_rows all{{"thing", {}}};
    for (std::uint32_t id = 0; id < 25'000; ++id) // more than are written at once
        all.front().second.push_back({id, thing_of(id, id), true});
    write(snapshot, all);
    const auto bytes = folder_reader(snapshot).manifest().bytes();
    loading_options how = often_kept("none");
    how.tell = [&](std::uint64_t done, std::uint64_t) {
        if (done > bytes) die();
    };
    const auto call = [&] { static_cast<void>(load_as(folder_reader(snapshot), state, how)); };
    REQUIRE(run_process(call).killed);
    how.tell = {};
    REQUIRE_FALSE(run_process(call).killed);
    static_cast<void>(run_process([&] { require_whole(state, all); }));
}

TEST_CASE("another snapshot, other options and what is not whole begin anew, and it is said") {
    const scratch_folder folder;
    const fs::path snapshot = folder.path() / "snapshot";
    const fs::path state = folder.path() / "state";
    fs::path from = snapshot;
    loading_options how = often_kept("none");
    types_and_rows expected = objects_only();
    std::string why;
    const bool is_whole = GENERATE(true, false);
    write(snapshot, objects_only());
    SECTION("functions") {
        how.rules["a"].compute = [](archive::bytes_view, std::span<std::byte>) {};
        kill_when_kept(snapshot, state, often_kept("none"), 2);
        why = "functions compute values";
    }
    SECTION("another snapshot") {
        kill_when_kept(snapshot, state, how, 2);
        from = folder.path() / "other";
        expected.front().second.pop_back();
        write(from, expected);
        why = "it was of snapshot " + hex(folder_reader(snapshot).manifest().name());
    }
    SECTION("other options") {
        kill_when_kept(snapshot, state, how, 2);
        how.rules["a"].dropped.insert("none");
        how.rules["a"].may_not_apply = true;
        why = "it had other options";
    }
    SECTION("another version") {
        kill_when_kept(snapshot, state, how, 2);
        const fs::path notes = unfinished_path(state) / "notes";
        std::string text = read_file(notes);
        text.replace(text.find("\"format\":1"), 10, "\"format\":9");
        replace_file(notes, text);
        why = "another version of this program";
    }
    SECTION("a damaged checkpoint") {
        kill_when_kept(snapshot, state, how, 2);
        fs::resize_file(unfinished_path(state) / "state/checkpoint/pages", 4096);
        why = "pages";
    }
    if (!is_whole) remove_chunk_of(from, "a"); // which is needed again
    const auto call = [&] {
        const test::captured_log log;
        bool is_made = true;
        try {
            static_cast<void>(load_as(folder_reader(from), state, how));
        } catch (const error&) {
            is_made = false;
        }
        require(log.says("loading begins anew") && log.says(why), log.text());
        require(is_made == is_whole, "it was not begun anew");
    };
    static_cast<void>(run_process(call));
    REQUIRE(fs::exists(state) == is_whole);
    REQUIRE(!fs::exists(unfinished_path(state)));
    if (is_whole) static_cast<void>(run_process([&] { require_whole(state, expected); }));
}

TEST_CASE("an exception leaves what was kept for the same call, or nothing") {
    const scratch_folder folder;
    const fs::path snapshot = folder.path() / "snapshot";
    const fs::path state = folder.path() / "state";
    write(snapshot, objects_only());
    const bool keeps = GENERATE(false, true);
    loading_options how = often_kept("none");
    if (!keeps) how.keep_interval = std::chrono::hours(1);
    const auto chunk = snapshot / "chunks" /
                       hex(folder_reader(snapshot).manifest().find("c")->chunks.front().digest);
    fs::rename(chunk, folder.path() / "aside");
    const test::captured_log log;
    REQUIRE_THROWS_AS(load_as(folder_reader(snapshot), state, how), error);
    REQUIRE(log.says("the same call goes on") == keeps);
    REQUIRE(fs::exists(unfinished_path(state)) == keeps);
    REQUIRE(!fs::exists(unfinished_path(state) / "state/segment"));
    fs::rename(folder.path() / "aside", chunk);
    if (keeps) remove_chunk_of(snapshot, "a");
    static_cast<void>(load_as(folder_reader(snapshot), state, how));
    require_whole(state, objects_only());
}
