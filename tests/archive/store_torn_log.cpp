// A log torn behind what was synced is a crash like any other; torn before it, rows are lost, and
// opening says so and spoils nothing.
#include <fstream>

#include "support.hpp"

using namespace archive_test;
namespace fs = std::filesystem;

namespace {

/// Leaves a store of `last` batches, synced after `synced`, by a process that died.
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

/// Cuts, empties, alters or removes a log somewhere.
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
        out << random.text(40);
    }
}

/// What became of a damaged store: an error (false), or whole batches with all that was synced.
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

TEST_CASE("whatever happens to a log: all that was synced is there, or an error") {
    random_source random;
    INFO("CHAINBASE_TEST_SEED=" << random.seed());
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

TEST_CASE("logs that are needed no more may have gaps among them: a kill while they are deleted") {
    scratch_folder folder;
    write_and_die(folder / "a", 100, 100);
    const fs::path old = logs_of(folder / "a").front();
    fs::copy(old, folder / "kept");
    write_and_die(folder / "a", 400, 400, 200); // reads the old logs into table files first
    REQUIRE_FALSE(fs::exists(old));
    fs::copy(folder / "kept", old);
    const auto s = open_store(folder / "a");
    CHECK(s->count(s->open_table("rows", {"by_record"})) == 3000);
}
