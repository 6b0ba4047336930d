#include <pool_allocator/error.hpp>
#include <tools/block_log/block_log_contents.hpp>
#include <tools/block_log/bytes.hpp>
#include <tools/block_log/synced_mark.hpp>
#include <tools/chains/social/operations.hpp>
#include <tools/driver/block_log_tools/log_making.hpp>
#include <tools/driver/block_log_tools/log_reading.hpp>
#include <tools/driver/block_log_tools/log_repair.hpp>
#include <tools/driver/block_log_tools/log_verification.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/forged_search.hpp>
#include <tests/tools/sample_blocks.hpp>

/// Logs that are damaged, torn or foreign: what is told of them, and what is saved.
using namespace chainbase;
using namespace chainbase::driver;
using namespace chainbase::test;
using Catch::Contains;

namespace {

log_progress shown("testing");

/// A log with a block in each record, and where the records begin.
struct damageable_log {
    temporary_folder folder;
    std::filesystem::path path = folder / "log";
    std::vector<block> blocks = sample_blocks(12);
    std::vector<std::uint64_t> offsets;
    std::string whole;

    damageable_log() {
        write_log(path, blocks);
        const file log = file::open_read(path);
        for (std::uint64_t at = 64; at < log.size();) {
            offsets.push_back(at);
            at = check_record(log, at, log.size()).record->end();
        }
        whole = read_file(path);
    }
    void flip(std::size_t record) {
        std::string bytes = read_file(path);
        bytes[offsets[record] + 34] ^= 1;
        write_file(path, bytes);
    }
    void remove_index() const { std::filesystem::remove(index_path(path)); }
    void remove_mark() const { std::filesystem::remove(synced_path(path)); }
    /// As a writer leaves it that synced so many records and appended the others.
    void mark_synced(std::size_t records) const {
        const file log = file::open_read(path);
        const auto last = check_record_before(log, offsets[records]).record;
        (void)synced_mark_file::place(log, {read_log_header(log, {}).checksum, offsets[records],
                                            last.value().checksum(), log.inode(), true});
    }
    [[nodiscard]] log_verification verified() const { return verify_log(path, false, shown); }
    [[nodiscard]] std::vector<block> some(std::size_t from, std::size_t to) const {
        return {blocks.begin() + static_cast<std::ptrdiff_t>(from),
                blocks.begin() + static_cast<std::ptrdiff_t>(to)};
    }
};

} // namespace

TEST_CASE("a good log is good, with and without its index, and stays as it is") {
    const damageable_log log;
    CHECK(log.verified().good());
    CHECK(log.verified().index == "fits the log");
    log.remove_index();
    const log_verification found = log.verified();
    CHECK(found.good());
    CHECK(found.index == "is missing");
    CHECK(found.blocks == 12);
    CHECK(found.records == 12);
    REQUIRE(found.runs.size() == 1);
    CHECK(found.runs[0].first == log.blocks.front().number);
    CHECK(found.runs[0].last == log.blocks.back().number);
    CHECK(info_of(log.path, true, shown).index == "is missing");
    CHECK_FALSE(std::filesystem::exists(index_path(log.path)));
    CHECK(read_file(log.path) == log.whole);
}

TEST_CASE("every damage is found with its place, and what survives is told") {
    damageable_log log;
    log.flip(3);
    log.flip(7);
    log.flip(8);
    const log_verification found = log.verified();
    CHECK_FALSE(found.good());
    REQUIRE(found.lost.size() == 2);
    CHECK(found.lost[0].offset == log.offsets[3]);
    CHECK(found.lost[0].bytes == log.offsets[4] - log.offsets[3]);
    CHECK(found.lost[0].block_before == log.blocks[2].number);
    CHECK(found.lost[0].block_after == log.blocks[4].number);
    CHECK_THAT(found.lost[0].reason, Contains("checksum"));
    CHECK(found.lost[1].offset == log.offsets[7]);
    CHECK(found.lost[1].block_after == log.blocks[9].number);
    REQUIRE(found.runs.size() == 3);
    CHECK(found.runs[1].first == log.blocks[4].number);
    CHECK(found.runs[1].last == log.blocks[6].number);
    CHECK(found.blocks == 9);
    CHECK_THAT(to_text(found), Contains("NOT GOOD") && Contains("salvage"));
}

TEST_CASE("every flipped bit behind the header is found by verify") {
    damageable_log log;
    log.remove_index();
    const bool with_mark = GENERATE(false, true);
    if (!with_mark) log.remove_mark();
    for (std::size_t bit = 64 * 8; bit < 8 * log.whole.size(); bit += 3) {
        std::string flipped = log.whole;
        flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
        write_file(log.path, flipped);
        const log_verification found = log.verified();
        REQUIRE(found.blocks == 11);
        // At the end it may be a torn one, unless the mark knows better.
        REQUIRE(found.good() == (!with_mark && bit / 8 >= log.offsets.back()));
        REQUIRE(found.torn_end.has_value() == found.good());
    }
}

TEST_CASE("an end that the index knows as complete is damage, not torn") {
    damageable_log log;
    log.flip(11);
    const log_verification found = log.verified();
    CHECK_FALSE(found.good());
    CHECK_FALSE(found.torn_end);
    CHECK_THAT(found.lost.at(0).reason, Contains("index"));
    // Building the index anew would remove the only witness.
    const std::string index = read_file(index_path(log.path));
    CHECK_THROWS_AS(repair_index(log.path, shown), damaged_error);
    CHECK(read_file(index_path(log.path)) == index);
    log.remove_index(); // the mark is another one
    CHECK_THAT(log.verified().lost.at(0).reason, Contains("it was synced"));
    CHECK_THROWS_AS(repair_index(log.path, shown), damaged_error);
    log.remove_mark();
    CHECK(log.verified().good());
    REQUIRE(log.verified().torn_end);
    CHECK(log.verified().torn_end->offset == log.offsets[11]);
}

TEST_CASE("verify tells what a loss of power took from what is damaged, and what the mark is") {
    damageable_log log;
    log.remove_index();
    CHECK(log.verified().mark ==
          "fits the log: " + std::to_string(log.whole.size()) + " bytes synced");
    log.mark_synced(7);
    log.flip(8);
    log.flip(10);
    const log_verification found = log.verified();
    CHECK(found.good());
    CHECK(found.blocks == 8);
    REQUIRE(found.run_count == 1);
    CHECK(found.runs[0].last == log.blocks[7].number);
    REQUIRE(found.torn_end);
    CHECK(found.torn_end->offset == log.offsets[8]);
    CHECK(found.torn_end->bytes == log.whole.size() - log.offsets[8]);
    CHECK_THAT(found.torn_end->reason, Contains("2 good blocks follow"));
    CHECK(found.mark ==
          "fits the log: " + std::to_string(log.offsets[7]) + " bytes synced, not closed");
    CHECK_THAT(to_json(found), Contains("\"mark\""));
    CHECK(repair_index(log.path, shown).blocks == 8);

    log.remove_index();
    log.mark_synced(10); // the first damage is below it: nothing behind it is let go
    const log_verification damaged = log.verified();
    CHECK_FALSE(damaged.good());
    CHECK(damaged.lost_count == 2);
    CHECK_FALSE(damaged.torn_end);
    log.remove_mark();
    CHECK(log.verified().lost_count == 2);
    CHECK(log.verified().mark == "is missing");
}

TEST_CASE("a salvaged log has a mark of its own") {
    damageable_log log;
    log.flip(3);
    (void)salvage_log({log.path, log.folder / "saved", {}}, shown);
    const log_verification found = verify_log(log.folder / "saved", false, shown);
    CHECK_THAT(found.mark, Contains("fits the log: " + std::to_string(found.bytes)));
    CHECK_FALSE(std::filesystem::exists(log.folder / "saved.unfinished.synced"));
}

TEST_CASE("a record out of order or with other blocks than it states is lost, the rest is not") {
    damageable_log log;
    const auto record = [&](std::size_t i) {
        return log.whole.substr(log.offsets[i], log.offsets[i + 1] - log.offsets[i]);
    };
    record_batch forged;
    forged.add(log.blocks[1].number, encode_block(log.blocks[1]));
    forged.last_number += 1;
    const log_record packed = pack_record(forged, 3, 0);
    const std::string head = log.whole.substr(0, 64);
    write_file(log.path, head + record(0) + std::string(text_of(packed.raw())) + record(5) +
                             record(2) + record(6));
    log.remove_index();
    const log_verification found = log.verified();
    REQUIRE(found.lost.size() == 2);
    CHECK_THAT(found.lost[0].reason, Contains("ends with block"));
    CHECK_THAT(found.lost[1].reason, Contains("out of order"));
    CHECK(found.blocks == 3);
    CHECK(found.lost[0].block_after == log.blocks[5].number);
    CHECK(found.lost[1].block_after == log.blocks[6].number);
    const auto saved = salvage_log({log.path, log.folder / "to", {}}, shown);
    CHECK(saved.lost.at(0).block_after == log.blocks[5].number);
    const auto pieces = salvage_log({log.path, {}, log.folder / "pieces"}, shown);
    CHECK(pieces.lost.at(0).block_after == log.blocks[5].number);
    CHECK(pieces.lost.at(1).block_after == log.blocks[6].number);
}

TEST_CASE("several stretches in a row end with the next good block, or nowhere") {
    damageable_log log;
    const auto record = [&](std::size_t i) {
        return log.whole.substr(log.offsets[i], log.offsets[i + 1] - log.offsets[i]);
    };
    const std::string before = log.whole.substr(0, 64) + record(5) + record(1) + record(2);
    write_file(log.path, before + record(6));
    log.remove_index();
    auto lost = log.verified().lost;
    REQUIRE(lost.size() == 2);
    CHECK(lost[0].block_after == log.blocks[6].number);
    CHECK(lost[1].block_after == log.blocks[6].number);
    write_file(log.path, before);
    lost = log.verified().lost;
    REQUIRE(lost.size() == 2);
    CHECK_FALSE(lost[0].block_after);
}

TEST_CASE("a log that was made to be searched without end is told as such, its beginning saved") {
    damageable_log log;
    write_file(log.path, log.whole + "?" + seeming_records(1000, 1 << 16));
    log.remove_index();
    const log_verification found = log.verified();
    CHECK(found.blocks == 12);
    CHECK_FALSE(found.torn_end);
    CHECK_THAT(found.lost.at(0).reason, Contains("not searched to the end"));
    (void)salvage_log({log.path, log.folder / "to", {}}, shown);
    CHECK(read_log(log.folder / "to") == log.blocks);
}

TEST_CASE("operations that do not decode are told with their place") {
    const temporary_folder folder;
    auto writer = block_log_writer::create(folder / "log", social::chain_name);
    const bytes good = social::encode(social::account_create{"alice"});
    writer.append({5, 0, {{{good}}, {{good, {std::byte{99}}}}}});
    writer.append({6, 0, {{{good}}}});
    writer.close();
    CHECK(verify_log(folder / "log", false, shown).good());
    const log_verification found = verify_log(folder / "log", true, shown);
    CHECK_FALSE(found.good());
    CHECK(found.lost_count == 0);
    CHECK(found.operations == 4);
    REQUIRE(found.fault_count == 1);
    CHECK_THAT(found.faults[0], Contains("block 5, transaction 2 of 2, operation 2 of 2"));
    write_log(folder / "other", sample_blocks(1));
    CHECK_THROWS_AS(verify_log(folder / "other", true, shown), usage_error);
}

TEST_CASE("a torn end of any length is no damage and is left out of what is saved") {
    damageable_log log;
    log.remove_index();
    for (std::size_t size = log.offsets[11] + 1; size < log.whole.size(); size += 7) {
        write_file(log.path, log.whole.substr(0, size));
        const log_verification found = log.verified();
        REQUIRE(found.good());
        REQUIRE(found.torn_end->bytes == size - log.offsets[11]);
        REQUIRE(info_of(log.path, false, shown).torn_bytes == size - log.offsets[11]);
    }
    (void)salvage_log({log.path, log.folder / "saved", {}}, shown);
    CHECK(read_log(log.folder / "saved") == first_of(log.blocks, 11));
}

TEST_CASE("what stands before the damage is saved, and nothing of what follows it") {
    damageable_log log;
    log.flip(3);
    const std::string damaged = read_file(log.path);
    const salvage_report report = salvage_log({log.path, log.folder / "saved", {}}, shown);
    CHECK(read_log(log.folder / "saved") == first_of(log.blocks, 3));
    CHECK(report.lost_count == 1);
    CHECK(report.lost.at(0).block_after == log.blocks[4].number);
    CHECK(report.left_bytes == damaged.size() - log.offsets[4]);
    CHECK(read_file(log.path) == damaged);
    log.flip(0);
    CHECK_THROWS_WITH(salvage_log({log.path, log.folder / "none", {}}, shown),
                      Contains("--to-folder"));
    CHECK_FALSE(std::filesystem::exists(log.folder / "none"));
}

TEST_CASE("every good stretch is saved in a log of its own, so that no hole is hidden") {
    damageable_log log;
    log.flip(3);
    log.flip(7);
    const salvage_report report = salvage_log({log.path, {}, log.folder / "saved"}, shown);
    REQUIRE(report.logs.size() == 3);
    CHECK(read_log(report.logs[0].path) == log.some(0, 3));
    CHECK(read_log(report.logs[1].path) == log.some(4, 7));
    CHECK(read_log(report.logs[2].path) == log.some(8, 12));
    CHECK(report.lost_count == 2);
    CHECK(report.left_bytes == 0);
    for (std::size_t i = 0; i < 12; ++i)
        if (i != 3 && i != 7) log.flip(i);
    CHECK_THROWS_AS(salvage_log({log.path, {}, log.folder / "none"}, shown), usage_error);
    CHECK_FALSE(std::filesystem::exists(log.folder / "none"));
    CHECK_FALSE(std::filesystem::exists(log.folder / "none.unfinished"));
}

TEST_CASE("copying stops at damage with its place and leaves nothing") {
    damageable_log log;
    log.flip(6);
    CHECK_THROWS_WITH(trim_log(log.path, log.folder / "copy", {}, shown),
                      Contains("block " + std::to_string(log.blocks[6].number)) &&
                          Contains("byte " + std::to_string(log.offsets[6])));
    CHECK_FALSE(std::filesystem::exists(log.folder / "copy"));
    CHECK_FALSE(std::filesystem::exists(log.folder / "copy.unfinished"));
    CHECK_NOTHROW(trim_log(log.path, log.folder / "copy", {0, log.blocks[5].number}, shown));
}

TEST_CASE("an index is built anew when it is missing, damaged, foreign, old or wrong") {
    const damageable_log log;
    const auto index = index_path(log.path);
    const std::string good = read_file(index);
    CHECK_FALSE(repair_index(log.path, shown).changed);

    damageable_log other;
    write_log(other.folder / "short", first_of(log.blocks, 5));
    std::string flipped = good;
    flipped[70] ^= 1;
    const std::string old = read_file(index_path(other.folder / "short"));
    for (const std::string& bad : {std::string(), flipped, good.substr(0, 80), old}) {
        write_file(index, bad);
        const index_repair report = repair_index(log.path, shown);
        CHECK(report.changed);
        CHECK(report.records == 12);
        CHECK(report.blocks == 12);
        CHECK(read_file(index) == good);
    }
    log.remove_index();
    CHECK(repair_index(log.path, shown).before == "is missing");
    CHECK(read_file(index) == good);
    CHECK(read_file(log.path) == log.whole);
}

TEST_CASE("an index that readers would believe though it is wrong is told and repaired") {
    const damageable_log log;
    // The same bytes as records of another log: both fit, but for what lies between the ends.
    const auto index = index_path(log.path);
    const index_check saved =
        load_index(index, read_log_header(file::open_read(log.path), {}).checksum);
    std::string wrong = read_file(index);
    wrong[56 + 24 * 4] = static_cast<char>(wrong[56 + 24 * 4] + 1); // the fifth record's offset
    const auto covered = std::as_bytes(std::span(wrong)).first(wrong.size() - 8);
    const std::uint64_t sum = checksum(covered);
    std::memcpy(wrong.data() + wrong.size() - 8, &sum, 8);
    write_file(index, wrong);
    REQUIRE(saved.index);
    const log_verification found = log.verified();
    CHECK(found.index_misleads);
    CHECK_FALSE(found.good());
    CHECK(found.lost_count == 0);
    CHECK_THROWS_AS(read_log(log.path), damaged_error);
    CHECK(repair_index(log.path, shown).changed);
    CHECK(log.verified().good());
}

TEST_CASE("times that no calendar has are told as they are") {
    const temporary_folder folder;
    write_log(folder / "log", {{1, INT64_MIN, {}}, {2, INT64_MAX, {}}});
    const log_info info = info_of(folder / "log", false, shown);
    CHECK_THAT(to_text(info), Contains(std::to_string(INT64_MIN)));
    CHECK_THAT(to_text(info), Contains(std::to_string(INT64_MAX)));
}

TEST_CASE("no tool takes what is no block log") {
    const temporary_folder folder;
    write_file(folder / "text",
               "this is no block log, but long enough to have a header in it......");
    write_log(folder / "log", sample_blocks(3));
    std::string header = read_file(folder / "log");
    header[20] ^= 1;
    write_file(folder / "altered", header);
    const auto check_all = [&](const std::filesystem::path& path) {
        CHECK_THROWS_AS(info_of(path, false, shown), chainbase::error);
        CHECK_THROWS_AS(verify_log(path, false, shown), chainbase::error);
        CHECK_THROWS_AS(salvage_log({path, folder / "saved", {}}, shown), chainbase::error);
        CHECK_THROWS_AS(trim_log(path, folder / "saved", {}, shown), chainbase::error);
        CHECK_THROWS_AS(repair_index(path, shown), chainbase::error);
    };
    check_all(folder / "text");
    check_all(folder / "altered");
    check_all(folder / "missing");
    check_all(folder.path());
    CHECK_FALSE(std::filesystem::exists(folder / "saved"));
}
