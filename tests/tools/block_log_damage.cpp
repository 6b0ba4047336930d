#include <pool_allocator/base/error.hpp>
#include <tools/block_log/block_log_contents.hpp>
#include <tools/block_log/block_log_format.hpp>
#include <tools/block_log/bytes.hpp>
#include <tools/block_log/log_record.hpp>
#include <tools/block_log/synced_mark.hpp>
#include <tools/driver/block_log_tools/log_verification.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/mutations.hpp>
#include <tests/tools/sample_logs.hpp>

#include <cstring>
#include <set>
#include <string>

/// Block logs with altered, missing or forged bits, bytes or records: reading returns what was
/// written, or less of it and a typed error or a warning, and changes no file.
using namespace chainbase;
using namespace chainbase::test;
using Catch::Contains;

namespace {

/// Bytes with so many places that look like a record of about `bytes` bytes, with a matching header
/// and trailer, none of them valid: a search has to sum up each of them.
std::string seeming_records(std::size_t count, std::size_t bytes) {
    using namespace block_log_format;
    const std::size_t headers = count * sizeof(record_header);
    const std::size_t trailers = headers + bytes;
    std::string result(trailers + count * sizeof(record_trailer), '\x7f');
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t begin = i * sizeof(record_header);
        const std::size_t end = trailers + (i + 1) * sizeof(record_trailer);
        record_header header;
        header.magic = record_magic;
        header.packed_bytes = static_cast<std::uint32_t>(end - begin - min_record_bytes);
        header.unpacked_bytes = 100;
        header.blocks = 1;
        header.first_number = header.last_number = 7;
        std::memcpy(result.data() + begin, &header, sizeof header);
        record_trailer trailer;
        trailer.record_bytes = static_cast<std::uint32_t>(end - begin);
        trailer.magic = record_end_magic;
        trailer.checksum = 0;
        std::memcpy(result.data() + end - sizeof trailer, &trailer, sizeof trailer);
    }
    return result;
}

/// What opening and reading a log comes to.
struct reading {
    std::vector<block> blocks;
    std::string damage; ///< what the exception says; nothing without one
    std::string said;   ///< warnings
    std::uint64_t stated = 0;
};

reading read(const std::filesystem::path& path) {
    const captured_log said;
    reading found;
    try {
        const block_log_reader reader(path, sample_chain);
        found.stated = reader.count();
        block_log_stream stream = reader.stream();
        while (auto next = stream.next())
            found.blocks.push_back(std::move(*next));
    } catch (const chainbase::error& problem) {
        found.damage = problem.what();
    }
    found.said = said.text();
    return found;
}

void check_says(const std::string& text, const std::vector<std::string>& parts) {
    CAPTURE(text);
    for (const std::string& part : parts)
        CHECK_THAT(text, Contains(part));
}

std::string byte_text(std::uint64_t place) {
    return "byte " + std::to_string(place);
}

bytes incompressible(std::size_t size) {
    random_source random(1);
    bytes result(size);
    for (std::byte& one : result)
        one = static_cast<std::byte>(random.next());
    return result;
}

} // namespace

TEST_CASE("every flipped bit of a log is detected, with and without an index") {
    const sample_log log(6, 60);
    for (std::size_t bit = 0; bit < 8 * log.whole.size(); ++bit) {
        std::string flipped = log.whole;
        flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
        write_all(log.path, flipped);
        for (const bool has_index : {true, false}) {
            has_index ? write_all(index_path(log.path), log.index) : log.remove_index();
            const reading found = read(log.path);
            INFO("bit " << bit << ", index " << has_index);
            REQUIRE(
                (!found.damage.empty() || found.said.find("the end is torn") != std::string::npos));
            REQUIRE(found.blocks == first_of(log.blocks, found.blocks.size()));
            REQUIRE(read_all(log.path) == flipped);
        }
    }
}

TEST_CASE("every flipped bit behind the header is found by verify") {
    const sample_log log(12);
    progress shown("testing");
    log.remove_index();
    const bool has_mark = GENERATE(false, true);
    if (!has_mark) log.remove_mark();
    for (std::size_t bit = 64 * 8; bit < 8 * log.whole.size(); bit += 3) {
        std::string flipped = log.whole;
        flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
        write_all(log.path, flipped);
        const auto found = driver::verify_log(log.path, false, shown);
        REQUIRE(found.blocks == 11);
        REQUIRE_FALSE(found.good());
        // At the end it may be a torn one, or the log cut, unless the mark knows better.
        REQUIRE(found.torn_end.has_value() == (!has_mark && bit / 8 >= log.ends[11]));
        REQUIRE(found.cut.has_value() == found.torn_end.has_value());
    }
}

TEST_CASE("damage in the middle names file, block and byte, and says what to do") {
    const sample_log log(10);
    log.flip_in({4});
    const std::string place = byte_text(log.ends[4]);
    const reading found = read(log.path);
    check_says(found.damage, {log.path.string(), place, "good copy",
                              "block " + std::to_string(log.blocks[4].number)});
    CHECK(found.blocks == first_of(log.blocks, 4));
    const block_log_reader reader(log.path);
    CHECK(reader.read(log.blocks[0].number) == log.blocks[0]);
    CHECK(reader.read(log.blocks[9].number) == log.blocks[9]);
    log.remove_index();
    check_says(read(log.path).damage,
               {log.path.string(), place, "good copy",
                "the block after " + std::to_string(log.blocks[3].number),
                "valid again from block " + std::to_string(log.blocks[5].number)});
}

TEST_CASE("a valid record far behind the damage is found wherever the search windows end") {
    const temporary_folder folder(memory_or_disk());
    const auto path = folder / "log";
    const bytes content = incompressible((1 << 20) + 8);
    // The search begins at byte 65 and reads 1 MiB at a time: let the second record begin at,
    // before and behind the border, so that its first bytes lie on both sides of it.
    const auto second_record_of = [&](std::size_t size) {
        std::filesystem::remove(path);
        const auto end = content.begin() + static_cast<std::ptrdiff_t>(size);
        write_log(path, {{1, 0, {{{bytes(content.begin(), end)}}}}, {2, 0, {}}});
        return block_log_reader(path).end_of_record(0);
    };
    const std::size_t border = 65 + (1 << 20);
    const std::size_t sample = (1 << 20) - 500;
    const std::size_t frame = second_record_of(sample) - sample;
    for (std::size_t second = border - 5; second <= border + 1; ++second) {
        REQUIRE(second_record_of(second - frame) == second);
        std::string damaged = read_all(path);
        damaged[1000] ^= 1;
        write_all(path, damaged);
        std::filesystem::remove(index_path(path));
        check_says(read(path).damage, {"valid again from block 2 at " + byte_text(second)});
    }
}

TEST_CASE("damage that is full of record beginnings is searched as fast as any other") {
    const temporary_folder folder(memory_or_disk());
    const auto path = folder / "log";
    write_log(path, {{1, 0, {{{incompressible(8 << 20)}}}}, {2, 0, {}}});
    std::string damaged = read_all(path);
    const std::string header = damaged.substr(64, 8); // the magic number and a length that fits
    for (std::size_t at = 1000; at < (8 << 20); at += header.size())
        damaged.replace(at, header.size(), header);
    write_all(path, damaged);
    std::filesystem::remove(index_path(path));
    check_says(read(path).damage, {"byte 64", "valid again from block 2"});
}

TEST_CASE("a repeated, swapped or missing record is damage, not a shorter log") {
    const sample_log log(3);
    const std::string head = log.whole.substr(0, 64);
    const auto damage_of = [&](const std::string& content) {
        write_all(log.path, content);
        log.remove_index();
        return read(log.path).damage;
    };
    check_says(damage_of(log.whole + log.record(2)), {"out of order"});
    check_says(damage_of(head + log.record(1) + log.record(0) + log.record(2)), {"out of order"});
    check_says(damage_of(head + log.record(0).substr(1) + log.record(1) + log.record(2)),
               {"the first block is expected"});
}

// --- an end that a crash tore ---

namespace {

/// Five records, the last of which was being written when its writer died; without a mark that
/// covers it.
struct torn_log : sample_log {
    torn_log() : sample_log(5) { remove_mark(); }

    /// Reading leaves the end out, appending cuts it and goes on.
    void check_torn(const std::string& content, const std::string& index_of_it) const {
        const bool is_cut = content.size() > ends[4];
        write_all(path, content);
        index_of_it.empty() ? remove_index() : write_all(index_path(path), index_of_it);
        const reading found = read(path);
        REQUIRE(found.blocks == first_of(blocks, 4));
        REQUIRE((found.said.find("the end is torn") != std::string::npos) == is_cut);
        REQUIRE(read_all(path) == content);
        const captured_log said;
        auto writer = open();
        REQUIRE(said.says("are cut") == is_cut);
        REQUIRE(read_all(path) == whole.substr(0, ends[4]));
        writer.append(blocks[4]);
        writer.close();
        REQUIRE(read_all(path) == whole);
        remove_mark();
    }
};

} // namespace

TEST_CASE("an end that a crash tore is left out and cut, whatever is in it") {
    const torn_log log;
    const std::string before = sample_log(4).index; // vouches for nothing behind it
    for (std::size_t size = log.ends[4]; size < log.whole.size(); ++size) {
        log.check_torn(log.whole.substr(0, size), "");
        log.check_torn(log.whole.substr(0, size), log.index);
    }
    for (std::size_t at = log.ends[4]; at < log.whole.size(); ++at) {
        std::string torn = log.whole;
        torn[at] = static_cast<char>(~torn[at]);
        log.check_torn(torn, "");
        log.check_torn(torn, before);
    }
    const std::string good = log.whole.substr(0, log.ends[4]);
    log.check_torn(good + std::string(10'000, '\0'), "");
    log.check_torn(good + "x", log.index);
    log.check_torn(good + good.substr(0, 100), "");
}

TEST_CASE("a last record with a wrong byte is damage where the index knows it, and is not cut") {
    const torn_log log;
    for (std::size_t at = log.ends[4]; at < log.whole.size(); ++at) {
        std::string damaged = log.whole;
        damaged[at] = static_cast<char>(~damaged[at]);
        write_all(log.path, damaged);
        REQUIRE_THROWS_AS(log.open(), damaged_error);
        REQUIRE_THROWS_WITH(
            block_log_reader(log.path, sample_chain),
            Contains(byte_text(log.ends[4])) &&
                Contains("block " + std::to_string(log.blocks[4].number) + " is expected") &&
                Contains("good copy") && Contains(index_path(log.path).string()));
        REQUIRE(read_all(log.path) == damaged);
        REQUIRE(read_all(index_path(log.path)) == log.index);
    }
}

TEST_CASE("a valid record behind an invalid one makes it damage, and nothing is cut") {
    const torn_log log;
    log.remove_index();
    log.flip_in({3});
    const std::string damaged = read_all(log.path);
    CHECK_THROWS_AS(log.open(), damaged_error);
    CHECK(read_all(log.path) == damaged);
}

// --- the mark of what was synced ---

namespace {

/// A log of eight records, so many of which were synced when its writer was killed: invalid bytes
/// below the mark are damage; above it, lost in a power failure, they are left out and cut.
struct crashed_log : sample_log {
    explicit crashed_log(std::size_t synced = 5) : sample_log(8) {
        std::filesystem::remove(path);
        remove_index();
        remove_mark();
        auto writer = block_log_writer::create(path, sample_chain, how);
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            writer.append(blocks[i]);
            writer.flush();
            if (i + 1 == synced) writer.sync();
        }
        writer.abandon();
        REQUIRE(read_all(path) == whole);
    }
    [[nodiscard]] synced_mark mark() const {
        return load_mark(synced_path(path),
                         read_log_header(file::open_read(path), sample_chain).checksum)
            .mark.value();
    }
    void set(const synced_mark& mark) const {
        (void)synced_mark_file::place(file::open_read(path), mark);
    }
    /// From the whole log on.
    void flip(std::size_t record) const {
        write_all(path, whole);
        flip_in({record});
    }

    /// Reading and writing must both refuse it and change nothing.
    void check_refused(const std::string& why) const {
        const captured_log quiet;
        const std::string before = read_all(path);
        const opening_options no_index{.save_index = false, .use_index = true, .watch = {}};
        REQUIRE_THROWS_WITH(block_log_reader(path, sample_chain, no_index), Contains(why));
        REQUIRE_THROWS_AS(open(), damaged_error);
        REQUIRE(read_all(path) == before);
    }
    /// Reading leaves out all from a record on, appending cuts it.
    void check_cut(std::size_t record, const std::string& says) const {
        const std::string before = read_all(path);
        const reading found = read(path);
        REQUIRE(found.blocks == first_of(blocks, record));
        REQUIRE_THAT(found.said, Contains(says) && Contains("are left out"));
        REQUIRE(read_all(path) == before);
        const captured_log said;
        auto writer = open();
        REQUIRE(said.says(says));
        REQUIRE(said.says(std::to_string(whole.size() - ends[record]) + " bytes after"));
        REQUIRE(read_all(path) == whole.substr(0, ends[record]));
        for (std::size_t i = record; i < blocks.size(); ++i)
            writer.append(blocks[i]);
        writer.close();
        REQUIRE(read_all(path) == whole);
    }
};

} // namespace

TEST_CASE("the mark is moved by each sync and closed with the log") {
    const crashed_log log;
    CHECK(log.mark().log_bytes == log.ends[5]);
    CHECK(log.mark().is_open);
    auto writer = log.open();
    CHECK(log.mark().log_bytes == log.ends[8]); // opening syncs what it finds
    writer.append({100'000, 0, {}});
    writer.flush();
    CHECK(log.mark().log_bytes == log.ends[8]);
    writer.sync();
    CHECK(log.mark().log_bytes == writer.bytes());
    CHECK(log.mark().is_open);
    writer.close();
    CHECK_FALSE(log.mark().is_open);
    CHECK(std::filesystem::file_size(synced_path(log.path)) == 56);
}

TEST_CASE("a wrong byte below the mark is damage, above it nobody was promised what is cut") {
    for (std::size_t record = 0; record < 8; ++record) {
        const crashed_log log;
        log.flip(record);
        CAPTURE(record);
        if (record < 5)
            log.check_refused("it was synced");
        else
            log.check_cut(record, record < 7 ? "no promised block is lost" : "the end is torn");
    }
    const crashed_log log;
    log.flip(5);
    CHECK_THAT(read(log.path).said,
               Contains("with 2 blocks from " + std::to_string(log.blocks[6].number) + " to " +
                        std::to_string(log.blocks[7].number)));
    const crashed_log nothing_synced(100);
    nothing_synced.flip(0);
    nothing_synced.check_cut(0, "with 7 blocks");
}

TEST_CASE("a synced record is damaged even when it is the last, with and without an index") {
    const crashed_log log(8);
    log.flip(7);
    log.check_refused("it was synced");
    write_all(log.path, log.whole);
    log.open().close();
    log.flip(7);
    log.check_refused("its index says");
    log.remove_index();
    log.check_refused("it was synced");
    log.remove_mark();
    log.check_cut(7, "the end is torn"); // nobody is left who knows
}

TEST_CASE("an index that knows a record keeps it from being cut, whatever the mark says") {
    const crashed_log log;
    log.open().close();
    synced_mark old = log.mark();
    old.log_bytes = 64;
    old.last_checksum = 0;
    old.is_open = true;
    log.set(old);
    log.flip(7);
    log.check_refused("its index says");
}

TEST_CASE("without a mark that can be read a valid record behind an invalid one is refused") {
    const crashed_log log;
    const std::string mark = read_all(synced_path(log.path));
    log.flip(6);
    std::set<std::string> unreadable{mark + "x"};
    for (std::size_t at = 0; at < mark.size(); ++at) {
        std::string damaged = mark;
        damaged[at] ^= 1;
        unreadable.insert({damaged, mark.substr(0, at)});
    }
    for (const std::string& one : unreadable) {
        write_all(synced_path(log.path), one);
        log.check_refused("valid again");
    }
    log.remove_mark();
    log.check_refused("valid again");
    std::filesystem::create_directories(synced_path(log.path));
    const captured_log quiet;
    CHECK_THROWS_AS(read_log(log.path), damaged_error);
    CHECK_THROWS_AS(log.open(), error);
}

TEST_CASE("a mark of another log, moment or file is no reason to cut") {
    const crashed_log log;
    const synced_mark good = log.mark();
    log.flip(6);
    const auto check_no_reason = [&](auto change) {
        synced_mark changed = good;
        change(changed);
        log.set(changed);
        log.check_refused("valid again");
    };
    check_no_reason([](auto& mark) { mark.is_open = false; }); // what was closed has nothing behind
    check_no_reason([](auto& mark) { ++mark.inode; }); // of the file that this one is a copy of
    check_no_reason([](auto& mark) { ++mark.header_checksum; });
    check_no_reason([](auto& mark) { ++mark.last_checksum; }); // other records of the same chain
    for (const std::uint64_t bytes :
         {std::uint64_t{log.ends[3]}, log.ends[3] + 1, log.whole.size() + 1, UINT64_MAX})
        check_no_reason([&](auto& mark) {
            ++mark.last_checksum;
            mark.log_bytes = bytes;
        });
    log.set(good);
    log.check_cut(6, "no promised block is lost");
}

TEST_CASE("a log that was copied with its mark is refused, one that was renamed with it is not") {
    const crashed_log log;
    log.flip(6);
    const std::filesystem::path copy = log.folder / "copy";
    std::filesystem::copy(log.path, copy);
    std::filesystem::copy(synced_path(log.path), synced_path(copy));
    CHECK_THROWS_WITH(block_log_writer::open(copy, sample_chain), Contains("valid again"));
    const std::filesystem::path moved = log.folder / "moved";
    std::filesystem::rename(log.path, moved);
    std::filesystem::rename(synced_path(log.path), synced_path(moved));
    const captured_log said;
    block_log_writer::open(moved, sample_chain).close();
    CHECK(said.says("no promised block is lost"));
}

TEST_CASE("a mark that tells of more than a log that was cut has is told, and then replaced") {
    const crashed_log log(8);
    const std::string tells = "records " + std::to_string(log.whole.size()) + " on the device";
    for (const std::size_t extra : {0, 20}) {
        write_all(log.path, log.whole.substr(0, log.ends[3] + extra));
        const reading found = read(log.path);
        CHECK(found.blocks == first_of(log.blocks, 3));
        CHECK_THAT(found.said, Contains(tells));
        CHECK((found.said.find("the end is torn") != std::string::npos) == (extra != 0));
        CHECK(log.mark().log_bytes == log.whole.size());
    }
    {
        const captured_log quiet;
        log.open().close();
    }
    CHECK(log.mark().log_bytes == log.ends[3]);
    CHECK_THAT(read(log.path).said, !Contains("on the device"));
}

TEST_CASE("a new log takes the place of a mark that an older one left") {
    const crashed_log log(8);
    std::filesystem::remove(log.path);
    {
        auto writer = block_log_writer::create(log.path, sample_chain, log.how);
        CHECK(log.mark().log_bytes == 64);
        for (const block& one : log.blocks)
            writer.append(one);
        writer.flush();
        writer.abandon();
    }
    log.flip(6);
    log.check_cut(6, "no promised block is lost");
}

// --- records and indexes whose checksums are right and whose contents are not ---

namespace {

/// Puts `value`, little-endian, at `position`.
std::string with(std::string raw, std::size_t position, std::uint64_t value, std::size_t size) {
    std::memcpy(raw.data() + position, &value, size);
    return raw;
}

/// With the right checksum at its end.
std::string sealed(std::string raw) {
    return with(raw, raw.size() - 8, checksum(bytes_of(raw).first(raw.size() - 8)), 8);
}

record_batch batch_of(const std::vector<block>& blocks) {
    record_batch batch;
    for (const block& one : blocks)
        batch.add(one.number, encode_block(one));
    return batch;
}

std::string record_of(const record_batch& batch) {
    return std::string(text_of(pack_record(batch, 3, 0).raw()));
}

/// An empty log, behind whose header a record is put.
struct forged_log : sample_log {
    std::vector<block> three = sample_blocks(3);
    std::string honest = record_of(batch_of(three));

    forged_log() : sample_log(0) {}

    [[nodiscard]] reading read_with(const std::string& record) const {
        write_all(path, whole + record);
        remove_index();
        return read(path);
    }
    void check_torn(const std::string& record, const std::string& reason) const {
        const reading found = read_with(record);
        CHECK(found.damage.empty());
        CHECK(found.blocks.empty());
        CHECK_THAT(found.said, Contains(reason));
    }
    void check_damaged(const record_batch& batch, const std::string& reason) const {
        check_damaged(record_of(batch), reason);
    }
    void check_damaged(const std::string& record, const std::string& reason) const {
        CHECK_THAT(read_with(record).damage, Contains(reason) && Contains("byte 64"));
    }
};

} // namespace

TEST_CASE("a record whose fields contradict each other or exceed a limit is no record") {
    const forged_log log;
    const std::string& honest = log.honest;
    const std::uint64_t limit = block_log_format::max_record_bytes + 1;
    log.check_torn(sealed(with(honest, 12, 0, 4)), "impossible block numbers");
    log.check_torn(sealed(with(honest, 24, log.three[0].number - 1, 8)),
                   "impossible block numbers");
    log.check_torn(sealed(with(honest, honest.size() - 16, honest.size() + 1, 4)),
                   "trailer does not match");
    log.check_torn(sealed(with(honest, honest.size() - 12, 0, 4)), "trailer does not match");
    log.check_torn(sealed(with(honest, 8, limit, 4)), "exceeds the limit");

    // Refused before memory is taken for it, in a file that is as long.
    write_all(log.path, log.whole + with(honest, 4, limit, 4));
    std::filesystem::resize_file(log.path, 2ull * block_log_format::max_record_bytes); // sparse
    const file sparse = file::open_read(log.path);
    CHECK_THAT(check_record(sparse, 64, sparse.size()).reason, Contains("exceeds the limit"));
}

TEST_CASE("a record with another payload or other blocks than it states is damage") {
    const forged_log log;
    const record_batch honest = batch_of(log.three);
    log.check_damaged(sealed(with(log.honest, 32, 0, 4)), "do not unpack");
    log.check_damaged(sealed(with(log.honest, 8, honest.unpacked.size() + 1, 4)), "another length");
    log.check_damaged(sealed(with(log.honest, 8, honest.unpacked.size() - 1, 4)), "do not unpack");
    const auto check = [&](auto change, const char* reason) {
        record_batch batch = honest;
        change(batch);
        log.check_damaged(batch, reason);
    };
    check([](auto& batch) { batch.blocks = 2; }, "another number of blocks");
    check([](auto& batch) { batch.blocks = 4; }, "another number of blocks");
    check([](auto& batch) { ++batch.last_number; }, "not with the block that it states");
    check([](auto& batch) { ++batch.first_number; }, "out of order");
    check([](auto& batch) { batch.unpacked.pop_back(); }, "exceeds the bytes left");
    check([](auto& batch) { batch.unpacked.push_back(std::byte{0x85}); },
          "ends in the middle of a value");
    const auto& three = log.three;
    log.check_damaged(batch_of({three[0], three[2], three[1], three[2]}), "out of order");
}

TEST_CASE("what only looks like records is not searched without end") {
    const forged_log log;
    const reading found = log.read_with(log.honest + "?" + seeming_records(1000, 1 << 16));
    CHECK_THAT(found.damage, Contains("looks like a record") && Contains("cannot be determined"));
    const file content = file::open_read(log.path);
    search_budget budget(content.size());
    int told = 0;
    const search_result search = search_record(content, 64 + log.honest.size(), content.size(),
                                               budget, [&](auto, auto) { ++told; });
    CHECK(search.gave_up);
    CHECK_FALSE(search.record);
    CHECK(told > 4); // for each, so that who waits can end it
    CHECK(told < 20);
}

TEST_CASE("an index that contradicts itself is rebuilt") {
    const sample_log log(3);
    // log_bytes, last number, blocks; of the three records offset, first number, blocks before
    for (const std::size_t field : {24, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120}) {
        const auto now = load<std::uint64_t>(bytes_of(log.index), field);
        for (const std::uint64_t value : {std::uint64_t{0}, UINT64_MAX - 100, now + 1, now - 1}) {
            write_all(index_path(log.path), sealed(with(log.index, field, value, 8)));
            const reading found = read(log.path);
            // Or it is consistent in itself, but not with the log: found on reading.
            CHECK((found.blocks == log.blocks || !found.damage.empty()));
            CHECK(found.blocks == first_of(log.blocks, found.blocks.size()));
        }
    }
}

// --- random damage ---

TEST_CASE("mutated blocks and random bytes decode to themselves or are refused with their place") {
    std::size_t accepted = 0;
    const auto recode = [&](const bytes& input) {
        try {
            const bytes again = encode_block(decode_block(input));
            ++accepted;
            RC_ASSERT(again == input);
        } catch (const damaged_error& damage) {
            const std::string said = damage.what();
            RC_ASSERT(said.find("block") != std::string::npos);
            RC_ASSERT(said.find("byte ") != std::string::npos);
        }
    };
    const auto blocks = sample_blocks(200);
    check_property(20'000, 100, [&] {
        const block& original = blocks[*rc::gen::inRange<std::size_t>(0, blocks.size())];
        recode(mutated(encode_block(original), *some_mutations()));
    });
    CHECK(accepted > 0); // a flipped byte of an operation is not the codec's to notice
    check_property(10'000, 100, [&](const std::vector<std::uint8_t>& input) {
        const auto view = std::as_bytes(std::span(input));
        recode({view.begin(), view.end()});
    });
}

TEST_CASE("a mutated log delivers a prefix of the truth and only typed errors") {
    const sample_log log(30, 150);
    const byte_view whole = bytes_of(log.whole);
    check_property(3000, 100, [&](bool has_index) {
        const bytes content = mutated({whole.begin(), whole.end()}, *some_mutations());
        write_all(log.path, text_of(content));
        has_index ? write_all(index_path(log.path), log.index) : log.remove_index();
        const reading found = read(log.path);
        RC_ASSERT(found.blocks == first_of(log.blocks, found.blocks.size()));
        if (found.damage.empty()) RC_ASSERT(found.blocks.size() == found.stated);
        RC_ASSERT(read_all(log.path) == text_of(content));
    });
}
