// The mark beside a block log tells how far it was synced: what is invalid below it is damage and
// refused, what a loss of power took above it is left out and cut. A mark that is not of this log,
// or of another moment, is never a reason to cut.

#include <pool_allocator/error.hpp>
#include <tools/block_log/block_log_contents.hpp>
#include <tools/block_log/synced_mark.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/disk_log.hpp>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Contains;

namespace {

/// A log of eight records, five of which were synced when its writer was killed.
struct crashed_log {
    temporary_folder folder;
    std::filesystem::path path = folder / "log";
    std::vector<block> blocks = sample_blocks(8);
    std::vector<std::size_t> ends{64}; ///< of the header and each record
    std::string whole;

    explicit crashed_log(std::size_t synced = 5) {
        auto writer = block_log_writer::create(path, sample_chain, {3, 0});
        for (const block& one : blocks) {
            writer.append(one);
            writer.flush();
            ends.push_back(writer.bytes());
            if (ends.size() - 1 == synced) writer.sync();
        }
        writer.abandon();
        whole = read_file(path);
    }
    /// A byte of a record, counted from 0.
    void flip(std::size_t record) const {
        std::string content = whole;
        content[ends[record] + 34] ^= 1;
        write_file(path, content);
    }
    [[nodiscard]] mark_check mark() const {
        return load_mark(synced_path(path),
                         read_log_header(file::open_read(path), sample_chain).checksum);
    }
    void set(const synced_mark& mark) const {
        (void)synced_mark_file::place(file::open_read(path), mark);
    }
};

/// Neither reading nor writing may take it, and nothing is changed.
void check_refused(const crashed_log& log, const std::string& why) {
    const captured_log quiet;
    const std::string before = read_file(log.path);
    const opening_options no_index{.save_index = false, .use_index = true, .watch = {}};
    REQUIRE_THROWS_WITH(block_log_reader(log.path, sample_chain, no_index), Contains(why));
    REQUIRE_THROWS_AS(block_log_writer::open(log.path, sample_chain), damaged_error);
    REQUIRE(read_file(log.path) == before);
}

/// Reading leaves out all from a record on, appending cuts it.
void check_cut(const crashed_log& log, std::size_t record, const std::string& says) {
    const std::string before = read_file(log.path);
    {
        const captured_log said;
        REQUIRE(read_log(log.path) == first_of(log.blocks, record));
        REQUIRE(said.says(says));
        REQUIRE(said.says("are left out"));
        REQUIRE(read_file(log.path) == before);
    }
    const captured_log said;
    auto writer = block_log_writer::open(log.path, sample_chain, {3, 0});
    REQUIRE(said.says(says));
    REQUIRE(said.says(std::to_string(log.whole.size() - log.ends[record]) + " bytes after"));
    REQUIRE(read_file(log.path) == log.whole.substr(0, log.ends[record]));
    for (std::size_t i = record; i < log.blocks.size(); ++i)
        writer.append(log.blocks[i]);
    writer.close();
    REQUIRE(read_file(log.path) == log.whole);
}

} // namespace

TEST_CASE("the mark is moved by each sync and closed with the log") {
    const crashed_log log;
    REQUIRE(log.mark().mark);
    CHECK(log.mark().mark->log_bytes == log.ends[5]);
    CHECK(log.mark().mark->is_open);
    auto writer = block_log_writer::open(log.path, sample_chain);
    CHECK(log.mark().mark->log_bytes == log.ends[8]); // opening syncs what it finds
    writer.append({100'000, 0, {}});
    writer.flush();
    CHECK(log.mark().mark->log_bytes == log.ends[8]);
    writer.sync();
    CHECK(log.mark().mark->log_bytes == writer.bytes());
    CHECK(log.mark().mark->is_open);
    writer.close();
    CHECK_FALSE(log.mark().mark->is_open);
    CHECK(std::filesystem::file_size(synced_path(log.path)) == 56);
}

TEST_CASE("a wrong byte below the mark is damage, above it nobody was promised what is cut") {
    for (std::size_t record = 0; record < 8; ++record) {
        const crashed_log log;
        log.flip(record);
        CAPTURE(record);
        if (record < 5)
            check_refused(log, "it was synced");
        else if (record < 7)
            check_cut(log, record, "nobody was promised it");
        else
            check_cut(log, record, "the end is torn");
    }
}

TEST_CASE("what is cut is told: how many blocks, and which") {
    const crashed_log log;
    log.flip(5);
    const captured_log said;
    (void)read_log(log.path);
    CHECK(said.says("with 2 blocks from " + std::to_string(log.blocks[6].number) + " to " +
                    std::to_string(log.blocks[7].number)));
}

TEST_CASE("a log of which nothing was synced may lose all of it") {
    const crashed_log log(100);
    log.flip(0);
    check_cut(log, 0, "with 7 blocks");
}

TEST_CASE("a synced record is damaged even when it is the last, with and without an index") {
    const crashed_log log(8);
    log.flip(7);
    check_refused(log, "it was synced");
    write_file(log.path, log.whole);
    block_log_writer::open(log.path, sample_chain).close();
    log.flip(7);
    check_refused(log, "its index says");
    std::filesystem::remove(index_path(log.path));
    check_refused(log, "it was synced");
    std::filesystem::remove(synced_path(log.path));
    check_cut(log, 7, "the end is torn"); // nobody is left who knows
}

TEST_CASE("an index that knows a record keeps it from being cut, whatever the mark says") {
    const crashed_log log;
    block_log_writer::open(log.path, sample_chain).close();
    synced_mark old = log.mark().mark.value();
    old.log_bytes = 64;
    old.last_checksum = 0;
    old.is_open = true;
    log.set(old);
    log.flip(7);
    check_refused(log, "its index says");
}

TEST_CASE("without a mark that can be read a valid record behind an invalid one is refused") {
    const crashed_log log;
    const std::string mark = read_file(synced_path(log.path));
    log.flip(6);
    for (std::size_t at = 0; at < mark.size(); ++at) {
        std::string damaged = mark;
        damaged[at] ^= 1;
        write_file(synced_path(log.path), damaged);
        check_refused(log, "valid again");
    }
    for (std::size_t size = 0; size < mark.size(); ++size) {
        write_file(synced_path(log.path), mark.substr(0, size));
        check_refused(log, "valid again");
    }
    write_file(synced_path(log.path), mark + "x");
    check_refused(log, "valid again");
    std::filesystem::remove(synced_path(log.path));
    check_refused(log, "valid again");
    std::filesystem::create_directories(synced_path(log.path));
    const captured_log quiet;
    CHECK_THROWS_AS(read_log(log.path), damaged_error);
    CHECK_THROWS_AS(block_log_writer::open(log.path, sample_chain), error);
}

TEST_CASE("a mark of another log, moment or file is no reason to cut") {
    const crashed_log log;
    const synced_mark good = log.mark().mark.value();
    log.flip(6);
    const auto check_no_reason = [&](synced_mark mark) {
        log.set(mark);
        check_refused(log, "valid again");
    };
    synced_mark changed = good;
    changed.is_open = false; // what was closed had nothing behind it
    check_no_reason(changed);
    changed = good;
    ++changed.inode; // of the file that this one is a copy of
    check_no_reason(changed);
    changed = good;
    ++changed.header_checksum;
    check_no_reason(changed);
    changed = good;
    ++changed.last_checksum; // of a log of the same chain with other records
    check_no_reason(changed);
    changed.log_bytes = log.ends[3]; // the record that ends there is another one
    check_no_reason(changed);
    changed.log_bytes = log.ends[3] + 1;
    check_no_reason(changed);
    changed.log_bytes = log.whole.size() + 1;
    check_no_reason(changed);
    changed.log_bytes = UINT64_MAX;
    check_no_reason(changed);
    log.set(good);
    check_cut(log, 6, "nobody was promised it");
}

TEST_CASE("a log that was copied with its mark is refused, one that was renamed with it is not") {
    const crashed_log log;
    log.flip(6);
    const std::filesystem::path copy = log.folder / "copy";
    std::filesystem::copy(log.path, copy);
    std::filesystem::copy(synced_path(log.path), synced_path(copy));
    CHECK_THROWS_WITH(block_log_writer::open(copy, sample_chain), Contains("valid again"));
    std::filesystem::rename(log.path, log.folder / "moved");
    std::filesystem::rename(synced_path(log.path), synced_path(log.folder / "moved"));
    const captured_log said;
    block_log_writer::open(log.folder / "moved", sample_chain).close();
    CHECK(said.says("nobody was promised it"));
}

TEST_CASE("a mark that tells of more than a log that was cut has is told, and then replaced") {
    const crashed_log log(8);
    for (const std::size_t extra : {0, 20}) {
        write_file(log.path, log.whole.substr(0, log.ends[3] + extra));
        const captured_log said;
        CHECK(read_log(log.path) == first_of(log.blocks, 3));
        CHECK(said.says("tells of " + std::to_string(log.whole.size()) + " on the device"));
        CHECK(said.says("the end is torn") == (extra != 0));
        CHECK(log.mark().mark->log_bytes == log.whole.size());
    }
    const captured_log quiet;
    block_log_writer::open(log.path, sample_chain).close();
    CHECK(log.mark().mark->log_bytes == log.ends[3]);
    const captured_log said;
    (void)read_log(log.path);
    CHECK_FALSE(said.says("on the device"));
}

TEST_CASE("a new log takes the place of a mark that an older one left") {
    const crashed_log log(8);
    std::filesystem::remove(log.path);
    {
        auto writer = block_log_writer::create(log.path, sample_chain, {3, 0});
        CHECK(log.mark().mark->log_bytes == 64);
        for (const block& one : log.blocks)
            writer.append(one);
        writer.flush();
        writer.abandon();
    }
    log.flip(6);
    check_cut(log, 6, "nobody was promised it");
}

TEST_CASE("a sync that fails does not move the mark") {
    disk_log log(1);
    log.create();
    log.append();
    log.sync();
    log.append();
    const auto marked = [&] {
        return load_mark(synced_path(disk_log::path),
                         read_log_header(file::open_read(disk_log::path, &log.disk), {}).checksum,
                         &log.disk)
            .mark.value()
            .log_bytes;
    };
    const std::uint64_t before = marked();
    const std::uint64_t after = log.disk.sizes().at(disk_log::path);
    log.disk.before = [&](auto which, const std::filesystem::path& file) {
        if (which == simulated_disk::call::sync) throw io_error(file.string() + ": sync failed");
    };
    const captured_log quiet;
    CHECK_THROWS_AS(log.sync(), io_error);
    log.disk.before = nullptr;
    CHECK(marked() == before);
    log.sync();
    CHECK(marked() == after);
    log.kill();
}
