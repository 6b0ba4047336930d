// What cannot be read is an error that names store, table and key; it is never "not found".
#include <archive/key.hpp>

#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <functional>

#include "support.hpp"

using namespace archive_test;
namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t rows = 2000;

std::string record_text(std::uint32_t id) {
    return "record " + std::to_string(id * 7919);
}

void put_rows(store& to, std::uint32_t first, std::uint32_t last) {
    const table_id posts = to.open_table("posts", {"by_number"});
    write_batch batch;
    for (std::uint32_t id = first; id < last; ++id) {
        const byte_buffer key = make_key(id);
        batch.put(posts, id, as_bytes(record_text(id)), std::vector<secondary_key>{{0, key}});
    }
    to.write(batch);
}

/// A closed store of `rows` rows in table files.
void make(const fs::path& folder, std::size_t ingest_rows = SIZE_MAX) {
    store_options options;
    options.ingest_rows = ingest_rows;
    const auto s = open_store(folder, options);
    put_rows(*s, 0, rows);
}

std::vector<fs::path> files(const fs::path& folder, const std::string& extension) {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder / "rocksdb"))
        if (entry.path().extension() == extension) found.push_back(entry.path());
    REQUIRE_FALSE(found.empty());
    return found;
}

/// The table files of rows and their keys: those of the catalogue are far smaller.
std::vector<fs::path> row_files(const fs::path& folder) {
    std::vector<fs::path> found = files(folder, ".sst");
    std::erase_if(found, [](const fs::path& file) { return fs::file_size(file) < 4096; });
    REQUIRE(found.size() >= 1);
    return found;
}

/// Changes the bytes from `from` on, `count` at most, without changing the file's size.
void scribble(const fs::path& file, std::size_t from, std::size_t count) {
    const std::size_t size = fs::file_size(file);
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(static_cast<std::streamoff>(from));
    for (std::size_t at = from; at < std::min(size, from + count); ++at)
        out.put('\x5a');
}

/// What a lookup of each row comes to; a row that is there but not found ends the test.
struct outcome {
    int found = 0;
    int failed = 0;
    std::string message;
};

void attempt(outcome& all, const std::function<std::optional<pinned_row>()>& find,
             std::uint32_t id) {
    try {
        const auto row = find();
        REQUIRE(row);
        REQUIRE(as_text(row->record()) == record_text(id));
        ++all.found;
    } catch (const damaged_error& error) {
        ++all.failed;
        all.message = error.what();
    } catch (const io_error& error) {
        ++all.failed;
        all.message = error.what();
    }
}

outcome look_everywhere(const store& in) {
    outcome all;
    for (std::uint32_t id = 0; id < rows; ++id) {
        attempt(all, [&] { return in.find(table_id{0}, id); }, id);
        attempt(all, [&] { return in.find(table_id{0}, 0, make_key(id)); }, id);
    }
    return all;
}

} // namespace

TEST_CASE("altered table files: each row is right or an error") {
    scratch_folder folder;
    make(folder / "a", GENERATE(SIZE_MAX, 1)); // from the buffer, ingested
    for (const fs::path& file : row_files(folder / "a"))
        scribble(file, 100, 1000);
    const auto s = open_store(folder / "a");
    const outcome all = look_everywhere(*s);
    CHECK(all.failed > 0);
    CHECK_THAT(all.message, Catch::Contains((folder / "a").string()) &&
                                Catch::Contains("\"posts\"") && Catch::Contains("restore"));
    CHECK(s->stats().failures == static_cast<std::uint64_t>(all.failed));
    CHECK(s->stats().lookups(lookup::miss).count() == 0);

    CHECK_THROWS_AS(
        [&] {
            for (auto at = s->rows(table_id{0}); at.valid(); at.next()) {
            }
        }(),
        damaged_error);
}

TEST_CASE("table files deleted under an open store: each row is right or an error") {
    scratch_folder folder;
    make(folder / "a");
    const auto s = open_store(folder / "a");
    for (const fs::path& file : files(folder / "a", ".sst"))
        fs::remove(file);
    const outcome all = look_everywhere(*s);
    CHECK(all.found + all.failed == 2 * rows);
    // RocksDB may have opened the files already; then it reads them still.
    if (all.failed > 0) CHECK_THAT(all.message, Catch::Contains("\"posts\""));
}

TEST_CASE("an error names the key that was asked for") {
    scratch_folder folder;
    make(folder / "a");
    for (const fs::path& file : row_files(folder / "a"))
        scribble(file, 0, fs::file_size(file) * 3 / 4); // rows and, behind them, keys
    const auto s = open_store(folder / "a");
    CHECK_THROWS_WITH((void)s->find(table_id{0}, 17), Catch::Contains("id 17"));
    CHECK_THROWS_WITH((void)s->find(table_id{0}, 0, make_key(17u)),
                      Catch::Contains("by_number = \\00\\00\\00\\11"));
    CHECK_THROWS_AS((void)s->contains(table_id{0}, 17), damaged_error);
    CHECK_THROWS_AS(put_rows(*s, 17, 18), damaged_error); // a put must know what it replaces
}

TEST_CASE("missing or cut files are found when the store is opened, not changed, and reported") {
    scratch_folder folder;
    make(folder / "a");
    SECTION("a table file is missing") {
        fs::remove(files(folder / "a", ".sst")[0]);
    }
    SECTION("a table file is cut") {
        const fs::path file = files(folder / "a", ".sst")[0];
        fs::resize_file(file, fs::file_size(file) / 2);
    }
    SECTION("CURRENT is missing") {
        fs::remove(folder / "a/rocksdb/CURRENT");
    }
    SECTION("CURRENT is garbage") {
        std::ofstream(folder / "a/rocksdb/CURRENT") << "garbage";
    }
    SECTION("the manifest is missing") {
        for (const auto& entry : fs::directory_iterator(folder / "a/rocksdb"))
            if (entry.path().filename().string().starts_with("MANIFEST")) fs::remove(entry.path());
    }
    SECTION("all of RocksDB is missing") {
        fs::remove_all(folder / "a/rocksdb");
    }
    SECTION("the mark is garbage") {
        std::ofstream(folder / "a/synced") << "many";
    }
    CHECK_THROWS_AS(open_store(folder / "a"), damaged_error);
    CHECK_THROWS_WITH(open_store(folder / "a"),
                      Catch::Contains((folder / "a").string()) && Catch::Contains("restore"));
    store_options reading;
    reading.read_only = true;
    CHECK_THROWS_AS(open_store(folder / "a", reading), damaged_error);
}

TEST_CASE("a write that the disk refuses throws, is not applied, and the rest stays") {
    scratch_folder folder;
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit unlimited{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &unlimited) == 0);
    std::uint32_t written = 0;
    {
        const auto s = open_store(folder / "a");
        put_rows(*s, 0, 100);
        rlimit tight = unlimited;
        tight.rlim_cur = std::size_t{1} << 16;
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &tight) == 0);
        std::string message;
        try {
            for (written = 100; written < 100000; ++written)
                put_rows(*s, written, written + 1);
        } catch (const io_error& error) {
            message = error.what();
        }
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &unlimited) == 0);
        CHECK_THAT(message, Catch::Contains((folder / "a").string()) && Catch::Contains("write"));
        CHECK(written < 100000);
        CHECK(s->stats().failures == 1);
        CHECK_FALSE(s->contains(table_id{0}, written));
        CHECK(s->count(table_id{0}) == written);
    }
    const auto s = open_store(folder / "a");
    CHECK(s->count(table_id{0}) == written);
    put_rows(*s, written, written + 1);
    CHECK(s->contains(table_id{0}, written));
}
