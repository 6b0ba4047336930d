// A store with altered, cut or missing files, or a torn log: each row is right or an error.

#include <archive/open_archive.hpp>
#include <archive/record/key.hpp>

#include <tests/support/lowered_limit.hpp>
#include <tests/support/seeded.hpp>

#include <csignal>
#include <fstream>
#include <functional>

#include "support.hpp"

using namespace archive_test;
namespace fs = std::filesystem;

// An unreadable row is an error that names store, table and key; it is never "not found".

namespace {

constexpr std::uint32_t row_count = 2000;

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

/// A closed store of `row_count` rows in table files.
void make(const fs::path& folder, std::size_t ingest_rows = SIZE_MAX) {
    store_options options;
    options.ingest_rows = ingest_rows;
    const auto s = open_store(folder, options);
    put_rows(*s, 0, row_count);
}

std::vector<fs::path> files(const fs::path& folder, const std::string& extension) {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder / "rocksdb"))
        if (entry.path().extension() == extension) found.push_back(entry.path());
    REQUIRE_FALSE(found.empty());
    return found;
}

/// The table files of rows and keys; those of the catalogue are far smaller.
std::vector<fs::path> row_files(const fs::path& folder) {
    std::vector<fs::path> found = files(folder, ".sst");
    std::erase_if(found, [](const fs::path& file) { return fs::file_size(file) < 4096; });
    REQUIRE(found.size() >= 1);
    return found;
}

/// Overwrites at most `count` bytes from `from` on; the file's size stays.
void scribble(const fs::path& file, std::size_t from, std::size_t count) {
    const std::size_t size = fs::file_size(file);
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(static_cast<std::streamoff>(from));
    for (std::size_t at = from; at < std::min(size, from + count); ++at)
        out.put('\x5a');
}

/// Counts the results of looking up each row; a row that is wrongly not found ends the test.
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
    for (std::uint32_t id = 0; id < row_count; ++id) {
        attempt(all, [&] { return in.find(table_id{0}, id); }, id);
        attempt(all, [&] { return in.find(table_id{0}, 0, make_key(id)); }, id);
    }
    return all;
}

} // namespace

TEST_CASE("altered table files: each row is right or an error") {
    scratch_folder folder;
    make(folder / "a", GENERATE(SIZE_MAX, 1)); // from the write buffer, ingested
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
    CHECK(all.found + all.failed == 2 * row_count);
    // RocksDB may have opened the files before; it can still read them then.
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
    CHECK_THROWS_AS(put_rows(*s, 17, 18), damaged_error); // a put must read the row it replaces
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
    std::uint32_t written = 0;
    {
        const auto s = open_store(folder / "a");
        put_rows(*s, 0, 100);
        std::string message;
        {
            const chainbase::test::file_size_limit tight(std::size_t{1} << 16);
            try {
                for (written = 100; written < 100000; ++written)
                    put_rows(*s, written, written + 1);
            } catch (const io_error& error) {
                message = error.what();
            }
        }
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

// A log torn behind the last sync is an ordinary crash; torn before it, rows are lost, and opening
// reports that without further damage.

namespace {

/// Leaves a store of `last` batches, synced after `synced`, by killing its process.
void write_and_die(const fs::path& folder, int last, int synced, int first = 0) {
    const std::string command = std::string(BATCH_WRITER) + " " + folder.string() + " " +
                                std::to_string(first) + " " + std::to_string(last) + " " +
                                std::to_string(synced) + " > /dev/null";
    REQUIRE(std::system(command.c_str()) == 0);
}

/// The logs, oldest first.
std::vector<fs::path> logs_of(const fs::path& folder) {
    std::vector<fs::path> logs;
    for (const auto& entry : fs::directory_iterator(folder / "rocksdb"))
        if (entry.path().extension() == ".log") logs.push_back(entry.path());
    std::ranges::sort(logs);
    REQUIRE_FALSE(logs.empty());
    return logs;
}

fs::path log_of(const fs::path& folder) {
    return logs_of(folder).back();
}

std::uint64_t rows_in(const fs::path& folder) {
    const auto s = open_store(folder);
    return s->count(s->open_table("rows", {"by_record"}));
}

std::string content(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

TEST_CASE("a log cut behind what was synced opens with what came before the cut") {
    scratch_folder folder;
    write_and_die(folder / "a", 40, 20);
    const fs::path log = log_of(folder / "a");
    fs::resize_file(log, fs::file_size(log) - 100);
    CHECK(rows_in(folder / "a") == 390);
}

TEST_CASE("a log that lacks what was synced is an error, again and again") {
    scratch_folder folder;
    write_and_die(folder / "a", 40, 40);
    const fs::path log = log_of(folder / "a");
    SECTION("cut") {
        fs::resize_file(log, fs::file_size(log) - 100);
    }
    SECTION("altered in its middle") {
        std::fstream out(log, std::ios::in | std::ios::out | std::ios::binary);
        out.seekp(static_cast<std::streamoff>(fs::file_size(log) / 2));
        out << "these bytes were not written by the store";
    }
    SECTION("emptied") {
        fs::resize_file(log, 0);
    }
    const std::string before = content(log);
    for (int attempt = 0; attempt < 2; ++attempt)
        CHECK_THROWS_AS(rows_in(folder / "a"), damaged_error);
    store_options reading;
    reading.read_only = true;
    CHECK_THROWS_AS(open_store(folder / "a", reading), damaged_error);
    CHECK_THROWS_WITH(rows_in(folder / "a"),
                      Catch::Contains((folder / "a").string()) && Catch::Contains("restore"));
    CHECK(content(log) == before);
}

TEST_CASE("a missing log is an error") {
    scratch_folder folder;
    write_and_die(folder / "a", 40, 40);
    fs::remove(log_of(folder / "a"));
    CHECK_THROWS_AS(rows_in(folder / "a"), damaged_error);
}

TEST_CASE("a closed store needs no log") {
    scratch_folder folder;
    write_and_die(folder / "a", 40, 20);
    CHECK(rows_in(folder / "a") == 400);
    CHECK(fs::file_size(log_of(folder / "a")) == 0);
    CHECK(rows_in(folder / "a") == 400);
}

namespace {

/// Cuts, empties, alters or removes a log at a random place.
void damage(const fs::path& log, random_source& random) {
    const std::uint64_t size = fs::file_size(log);
    const std::uint64_t place = random.below(size + 1);
    switch (random.below(4)) {
    case 0:
        fs::resize_file(log, place);
        return;
    case 1:
        fs::resize_file(log, 0);
        return;
    case 2:
        fs::remove(log);
        return;
    default:
        std::fstream out(log, std::ios::in | std::ios::out | std::ios::binary);
        out.seekp(static_cast<std::streamoff>(place));
        out << random_bytes(random, 40);
    }
}

/// The result of opening a damaged store: an error (false), or whole batches including all synced
/// ones.
bool opens_with(std::uint32_t synced_batches, const fs::path& folder) {
    try {
        const auto s = open_store(folder);
        const table_id rows = s->open_table("rows", {"by_record"});
        REQUIRE(s->count(rows) >= 10 * synced_batches);
        REQUIRE(s->count(rows) % 10 == 0);
        REQUIRE(s->contains(s->open_table("once", {"by_record"}), 0));
        std::uint32_t expected = 0;
        for (auto at = s->rows(rows); at.valid(); at.next(), ++expected)
            REQUIRE(at.id() == expected);
        REQUIRE(expected == s->count(rows));
        return true;
    } catch (const damaged_error&) {
        return false;
    }
}

} // namespace

TEST_CASE_METHOD(seeded, "whatever happens to a log: all that was synced is there, or an error") {
    scratch_folder folder;
    write_and_die(folder / "whole", 400, 300);
    const auto opens_after = [&](auto&& harm) {
        fs::copy(folder / "whole", folder / "copy", fs::copy_options::recursive);
        harm(logs_of(folder / "copy"));
        const bool opened = opens_with(300, folder / "copy");
        fs::remove_all(folder / "copy");
        return opened;
    };
    CHECK(opens_after([](const auto& logs) { // behind the sync
        fs::resize_file(logs.back(), fs::file_size(logs.back()) - 1);
    }));
    CHECK_FALSE(opens_after([](const auto& logs) { fs::resize_file(logs.front(), 0); }));
    for (int i = 0; i < 30; ++i)
        (void)opens_after(
            [&](const auto& logs) { damage(logs[random.below(logs.size())], random); });
}

TEST_CASE("whichever log is missing or empty: all that was synced is there, or an error") {
    for (const int synced : {400, 200, 1}) {
        scratch_folder folder;
        write_and_die(folder / "whole", 400, synced);
        for (const fs::path& log : logs_of(folder / "whole"))
            for (const bool missing : {true, false}) {
                INFO(log << " of " << logs_of(folder / "whole").size() << ", synced " << synced);
                fs::copy(folder / "whole", folder / "copy", fs::copy_options::recursive);
                const fs::path copy = folder / "copy/rocksdb" / log.filename();
                missing ? (void)fs::remove(copy) : fs::resize_file(copy, 0);
                opens_with(static_cast<std::uint32_t>(synced), folder / "copy");
                fs::remove_all(folder / "copy");
            }
    }
}

namespace {

/// Where the records of a log of less than a block begin: each has 7 bytes before it, its length
/// from the fifth on.
std::vector<std::size_t> records_of(const std::string& log) {
    std::vector<std::size_t> records;
    for (std::size_t at = 0; at + 7 <= log.size();) {
        records.push_back(at);
        const auto low = static_cast<unsigned char>(log[at + 4]);
        at += 7U + low + 256U * static_cast<unsigned char>(log[at + 5]);
    }
    return records;
}

} // namespace

TEST_CASE("what follows a gap in the log is left out if nothing there was synced") {
    for (const int synced : {1, 3}) {
        scratch_folder folder;
        write_and_die(folder / "a", 3, synced);
        const fs::path log = log_of(folder / "a");
        const std::string whole = content(log);
        const std::vector<std::size_t> records = records_of(whole);
        REQUIRE(records.size() > 3);
        // As if the last two batches had had logs of their own, of which a power cut took the
        // first.
        fs::resize_file(log, records[records.size() - 2]);
        const fs::path later = log.parent_path() / "000100.log";
        std::ofstream(later, std::ios::binary) << whole.substr(records.back());
        const bool opens = synced == 1;
        for (int attempt = 0; attempt < 2; ++attempt)
            CHECK(opens_with(static_cast<std::uint32_t>(synced), folder / "a") == opens);
        CHECK(fs::exists(later) != opens);
        if (opens) CHECK(rows_in(folder / "a") == 10);
    }
}

TEST_CASE("a log whose first write a power cut tore is the end, if nothing there was synced") {
    for (const int synced : {1, 3})
        for (const bool has_gap : {false, true}) {
            INFO("synced " << synced << ", gap " << has_gap);
            scratch_folder folder;
            write_and_die(folder / "a", 3, synced);
            const fs::path log = log_of(folder / "a");
            std::string whole = content(log);
            const std::vector<std::size_t> records = records_of(whole);
            const std::size_t last = records.back();
            fs::resize_file(log, records[records.size() - (has_gap ? 2 : 1)]);
            whole[last + 50] ^= 1;
            std::ofstream(log.parent_path() / "000100.log", std::ios::binary) << whole.substr(last);
            const bool opens = synced == 1;
            for (int attempt = 0; attempt < 2; ++attempt)
                CHECK(opens_with(static_cast<std::uint32_t>(synced), folder / "a") == opens);
            if (opens) CHECK(rows_in(folder / "a") == (has_gap ? 10 : 20));
        }
}

TEST_CASE("large and small batches after a torn end: all that was synced is there after a kill") {
    scratch_folder folder;
    store_options options;
    options.ingest_rows = 50;
    const auto copy_as_killed = [&](const char* from, const char* to) {
        fs::copy(folder / from, folder / to, fs::copy_options::recursive);
    };
    {
        const auto s = open_store(folder / "a", options);
        put_rows(*s, 0, 20);
        s->sync();
        put_rows(*s, 20, 30);
        copy_as_killed("a", "torn");
    }
    const fs::path log = log_of(folder / "torn");
    fs::resize_file(log, fs::file_size(log) - 3);
    {
        const auto s = open_store(folder / "torn", options);
        CHECK(s->count(table_id{0}) == 20);
        put_rows(*s, 20, 120);
        put_rows(*s, 120, 121);
        s->sync();
        copy_as_killed("torn", "killed");
    }
    const auto s = open_store(folder / "killed", options);
    CHECK(s->count(table_id{0}) == 121);
}

TEST_CASE("logs that are needed no more may have gaps among them: a kill while they are deleted") {
    scratch_folder folder;
    write_and_die(folder / "a", 100, 100);
    const fs::path old = logs_of(folder / "a").front();
    fs::copy(old, folder / "kept");
    write_and_die(folder / "a", 400, 400, 200); // moves the old logs into table files first
    REQUIRE_FALSE(fs::exists(old));
    fs::copy(folder / "kept", old);
    const auto s = open_store(folder / "a");
    CHECK(s->count(s->open_table("rows", {"by_record"})) == 3000);
}
