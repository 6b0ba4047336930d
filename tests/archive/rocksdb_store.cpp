// Properties of the store on disk only: it persists, is locked, and can be read beside its writer.
#include <archive/open_archive.hpp>
#include <archive/record/key.hpp>
#include <pool_allocator/base/private_folder.hpp>

#include <sys/stat.h>
#include <tests/support/lowered_limit.hpp>
#include <unistd.h>

#include <fstream>

#include "support.hpp"

using namespace archive_test;
namespace fs = std::filesystem;

namespace {

std::unique_ptr<store> open(const fs::path& folder, bool read_only = false) {
    store_options options;
    options.read_only = read_only;
    return open_store(folder, options);
}

void put(store& to, table_id table, std::uint32_t id, std::string_view record) {
    const byte_buffer key = make_key(record, id);
    write_batch batch;
    batch.put(table, id, as_bytes(record), std::vector<secondary_key>{{0, key}});
    to.write(batch);
}

std::string contents(const fs::path& folder) {
    std::string all;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        all += entry.path().string() + "\n";
        if (!entry.is_regular_file()) continue;
        std::ifstream in(entry.path(), std::ios::binary);
        all.append(std::istreambuf_iterator<char>(in), {});
    }
    return all;
}

/// Requires the modes of the folder and of everything in it.
void require_modes(const fs::path& folder, mode_t of_folders, mode_t of_files) {
    std::size_t files = 0;
    std::vector<fs::path> all{folder};
    for (const auto& entry : fs::recursive_directory_iterator(folder))
        all.push_back(entry.path());
    for (const fs::path& one : all) {
        CAPTURE(one);
        struct stat found{};
        REQUIRE(lstat(one.c_str(), &found) == 0);
        files += S_ISREG(found.st_mode) ? 1 : 0;
        CHECK((found.st_mode & 07777) == (S_ISDIR(found.st_mode) ? of_folders : of_files));
    }
    CHECK(files > 8); // tables, a log, a manifest among them
}

} // namespace

TEST_CASE("who may look at the folder of a store may look at all that is in it") {
    const mode_t umask_now = GENERATE(mode_t{0}, mode_t{022}, mode_t{077});
    const bool has_readers = GENERATE(false, true);
    scratch_folder folder;
    const mode_t before = umask(umask_now);
    chainbase::private_folder::make(folder / "state",
                                    has_readers ? std::optional(getegid()) : std::nullopt);
    for (const std::uint32_t id : {1U, 2U, 3U}) { // created, then reopened
        const auto s = open(folder / "state/archive");
        put(*s, s->open_table("posts", {"k"}), id, "row");
        if (id == 2) s->flush();
        require_modes(folder / "state/archive", has_readers ? 0750 : 0700,
                      has_readers ? 0640 : 0600); // while it is written
    }
    umask(before);
    require_modes(folder / "state/archive", has_readers ? 0750 : 0700, has_readers ? 0640 : 0600);
}

TEST_CASE("tables, rows, keys and counts stay") {
    scratch_folder folder;
    {
        const auto s = open(folder / "a");
        (void)s->open_table("zebras", {"k"});
        const table_id posts = s->open_table("posts", {"k", "l"});
        for (std::uint32_t id = 0; id < 100; ++id)
            put(*s, posts, id, "row");
    }
    const auto s = open(folder / "a");
    REQUIRE(s->tables().size() == 2);
    CHECK_THROWS_AS(s->open_table("posts", {"k"}), schema_error);
    const table_id posts = s->open_table("posts", {"k", "l"});
    CHECK(s->tables()[posts.value].key_names == std::vector<std::string>{"k", "l"});
    CHECK(s->count(posts) == 100);
    CHECK(s->find(posts, 0, make_key("row", std::uint32_t{99}))->id() == 99);
    CHECK(s->count(s->open_table("zebras", {"k"})) == 0);
}

TEST_CASE("a second writer is locked out, and the first one goes on") {
    scratch_folder folder;
    const auto s = open(folder / "a");
    const table_id posts = s->open_table("posts", {"k"});
    CHECK_THROWS_AS(open(folder / "a"), locked_error);
    put(*s, posts, 1, "one");
    CHECK(s->find(posts, 1));
}

TEST_CASE("a reader beside the writer sees what was written before, flushed or not") {
    scratch_folder folder;
    const auto writer = open(folder / "a");
    const table_id posts = writer->open_table("posts", {"k"});
    put(*writer, posts, 1, "flushed");
    writer->flush();
    put(*writer, posts, 2, "in the log");

    const auto reader = open(folder / "a", true);
    const table_id seen = reader->open_table("posts", {"k"});
    CHECK(as_text(reader->find(seen, 1)->record()) == "flushed");
    CHECK(as_text(reader->find(seen, 2)->record()) == "in the log");
    CHECK(reader->find(seen, 0, make_key("in the log", std::uint32_t{2}))->id() == 2);
    CHECK(reader->count(seen) == 2);
    auto at = reader->rows(seen);
    at.next();
    CHECK(at.id() == 2);

    // Whatever the writer does to its files, the reader keeps its view.
    for (std::uint32_t id = 3; id < 200; ++id)
        put(*writer, posts, id, std::string(5000, 'x'));
    writer->flush();
    CHECK(reader->find(seen, 1));
    CHECK(reader->count(seen) == 2);
    CHECK(open(folder / "a", true)->count(table_id{0}) == 199);
}

TEST_CASE("a read-only store refuses every change and makes none") {
    scratch_folder folder;
    {
        const auto s = open(folder / "a");
        put(*s, s->open_table("posts", {"k"}), 1, "one");
    }
    const std::string before = contents(folder / "a");
    {
        const auto s = open(folder / "a", true);
        CHECK(s->find(table_id{0}, 1));
        CHECK_THROWS_AS(put(*s, table_id{0}, 2, "two"), usage_error);
        CHECK_THROWS_AS(s->open_table("votes"), usage_error);
        CHECK_THROWS_AS(s->sync(), usage_error);
    }
    CHECK(contents(folder / "a") == before);
}

TEST_CASE("a folder of something else is refused and left as it was") {
    scratch_folder folder;
    fs::create_directories(folder / "a");
    std::ofstream(folder / "a/precious.txt") << "data";
    const std::string before = contents(folder / "a");
    CHECK_THROWS_AS(open(folder / "a"), format_error);
    CHECK_THROWS_AS(open(folder / "a", true), format_error);
    CHECK_THROWS_AS(open(folder / "a/precious.txt"), format_error);
    CHECK_THROWS_AS(open(folder / "missing", true), format_error);
    CHECK(contents(folder / "a") == before);
    CHECK_FALSE(fs::exists(folder / "missing"));
}

TEST_CASE("a store of another version is refused with what it says") {
    scratch_folder folder;
    open(folder / "a").reset();
    const std::string version = GENERATE("format 1", "format 3");
    std::ofstream(folder / "a/format") << "chainbase archive\n" + version + "\n";
    CHECK_THROWS_WITH(open(folder / "a"), Catch::Contains(version) && Catch::Contains("knows") &&
                                              Catch::Contains("rebuild the archive by a replay"));
    CHECK_THROWS_AS(open(folder / "a", true), format_error);
}

TEST_CASE("a folder whose making was interrupted opens") {
    scratch_folder folder;
    SECTION("before the format file was in place") {
        fs::create_directories(folder / "a");
        std::ofstream(folder / "a/format.new") << "chainb";
    }
    SECTION("before RocksDB was made") {
        open(folder / "a").reset();
        fs::remove_all(folder / "a/rocksdb");
        fs::remove(folder / "a/synced");
    }
    SECTION("before the first mark") {
        open(folder / "a").reset();
        fs::remove(folder / "a/synced");
        CHECK_THROWS_AS(open(folder / "a", true), format_error);
    }
    const auto s = open(folder / "a");
    put(*s, s->open_table("posts", {"k"}), 1, "one");
    CHECK(s->count(table_id{0}) == 1);
}

TEST_CASE("RocksDB keeps no log of its own on the archive's disk") {
    scratch_folder folder;
    const auto s = open(folder / "a");
    put(*s, s->open_table("posts", {"k"}), 1, "row");
    for (const auto& entry : fs::directory_iterator(folder / "a/rocksdb"))
        CHECK_FALSE(entry.path().filename().string().starts_with("LOG"));
}

TEST_CASE("a write that failed: no other is taken, reading goes on, opened again all is there") {
    scratch_folder folder;
    auto s = open(folder / "a");
    const table_id posts = s->open_table("posts", {"k"});
    std::uint32_t rows = 0;
    {
        const test::file_size_limit full(std::uint64_t{256} << 10);
        const std::string record(2000, 'r');
        const auto fill = [&] {
            for (;; ++rows)
                put(*s, posts, rows, record);
        };
        CHECK_THROWS_AS(fill(), io_error);
        CHECK_THROWS_AS(s->sync(), io_error);
    }
    CHECK(rows > 10);
    CHECK_THROWS_WITH(put(*s, posts, rows, "room"), Catch::Contains("open the store again"));
    CHECK_THROWS_AS(s->sync(), io_error);
    CHECK_THROWS_AS(s->flush(), io_error);
    CHECK(s->find(posts, rows - 1));
    CHECK_FALSE(s->find(posts, rows));
    s.reset();
    s = open(folder / "a");
    CHECK(s->count(s->open_table("posts", {"k"})) == rows);
    put(*s, posts, rows, "room");
    s->sync();
}

TEST_CASE("an opening that fails behind RocksDB's leaves the store as it was, to be opened again") {
    scratch_folder folder;
    {
        const auto s = open(folder / "a");
        put(*s, s->open_table("posts", {"k"}), 1, "row");
    }
    const fs::path conflicting_lock = folder / "a/synced.new"; // the mark is written here first
    fs::create_directory(conflicting_lock);
    CHECK_THROWS_AS(open(folder / "a"), io_error);
    fs::remove(conflicting_lock);
    const auto s = open(folder / "a");
    CHECK(s->count(s->open_table("posts", {"k"})) == 1);
}
