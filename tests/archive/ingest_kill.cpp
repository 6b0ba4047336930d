// A process dies while a large batch goes into the store as sorted files. Whatever the step, the
// batch is there whole or not at all, with all that came before, and no file stays behind.
#include <archive/detail/fault_steps.hpp>
#include <archive/key.hpp>
#include <archive/rocksdb_store.hpp>

#include <signal.h>
#include <sys/stat.h>
#include <tests/archive/in_child.hpp>

#include "support.hpp"

using namespace archive_test;
using chainbase::test::in_child;
namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t small_batch = 10;
constexpr std::uint32_t large_batch = 300;

int steps_left = -1; ///< until the process dies

void die_when_due(fault::ingest_step) {
    if (steps_left >= 0 && steps_left-- == 0) ::raise(SIGKILL);
}

void require(bool is_true, const char* what) {
    if (!is_true) throw error(what);
}

std::string record_text(std::uint32_t id) {
    return "row " + std::to_string(id);
}

/// Rows of two tables, so that both are in it or neither.
void put_rows(store& to, std::uint32_t from, std::uint32_t count) {
    write_batch batch;
    for (std::uint32_t id = from; id < from + count; ++id) {
        const std::string record = record_text(id);
        const byte_buffer key = make_key(record);
        const secondary_key keys[] = {{0, key}};
        batch.put({id % 2}, id, as_bytes(record), keys);
    }
    to.write(batch);
}

std::unique_ptr<rocksdb_store> open(const fs::path& folder) {
    store_options options;
    options.ingest_rows = 100;
    auto made = std::make_unique<rocksdb_store>(folder, options);
    made->open_table("even", {"by_record"});
    made->open_table("odd", {"by_record"});
    return made;
}

/// Small, large, small: through the log, as files, through the log again.
void write_all(const fs::path& folder) {
    const auto s = open(folder);
    put_rows(*s, 0, small_batch);
    put_rows(*s, small_batch, large_batch);
    put_rows(*s, small_batch + large_batch, small_batch);
    s->sync();
    ::raise(SIGKILL);
}

void check_rows(const store& in, std::uint32_t rows) {
    for (std::uint32_t id = 0; id < rows; ++id) {
        const auto row = in.find({id % 2}, id);
        require(row && as_text(row->record()) == record_text(id), "a row is lost");
        const auto found = in.find({id % 2}, 0, make_key(record_text(id)));
        require(found && found->id() == id, "a key is lost");
    }
    require(in.count({0}) + in.count({1}) == rows, "the counts are wrong");
    require(!in.find({rows % 2}, rows), "one too many");
}

/// Of table files; they are for the owner only, whatever the umask.
std::uint64_t bytes_of_tables(const fs::path& folder) {
    std::uint64_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(folder / "rocksdb")) {
        if (entry.path().extension() != ".sst") continue;
        struct stat found{};
        require(::stat(entry.path().c_str(), &found) == 0, "a file went");
        require((found.st_mode & 0777) == 0600, "a file is open to others");
        bytes += entry.file_size();
    }
    return bytes;
}

void check_and_go_on(const fs::path& folder) {
    const auto s = open(folder);
    require(!fs::exists(folder / "ingest"), "unfinished files stayed");
    const auto rows = static_cast<std::uint32_t>(s->count({0}) + s->count({1}));
    require(rows == small_batch || rows == small_batch + large_batch ||
                rows == 2 * small_batch + large_batch,
            "a batch is there in part");
    check_rows(*s, rows);
    put_rows(*s, 0, small_batch);
    put_rows(*s, small_batch, large_batch);
    s->flush();
    check_rows(*s, std::max(rows, small_batch + large_batch));
    require(s->engine().file_bytes == bytes_of_tables(folder), "a file belongs to nothing");
}

} // namespace

TEST_CASE("a kill at any step of an ingest loses nothing and leaves nothing behind") {
    fault::ingest_hook = die_when_due;
    ::umask(0);
    constexpr int all_steps = 6; // two files begun and written, flushed, ingested
    for (int step = 0; step <= all_steps; ++step) {
        INFO("killed at step " << step);
        scratch_folder folder;
        const int killed = in_child([&] {
            steps_left = step;
            write_all(folder / "store");
        });
        REQUIRE((WIFSIGNALED(killed) && WTERMSIG(killed) == SIGKILL));
        REQUIRE(in_child([&] {
                    if (step < all_steps) return;
                    // All was written and synced.
                    check_rows(*open(folder / "store"), 2 * small_batch + large_batch);
                }) == 0);
        REQUIRE(in_child([&] { check_and_go_on(folder / "store"); }) == 0);
        REQUIRE(in_child([&] {
                    check_rows(*open(folder / "store"), step < all_steps
                                                            ? small_batch + large_batch
                                                            : 2 * small_batch + large_batch);
                }) == 0);
    }
}
