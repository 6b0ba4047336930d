#include <pool_allocator/error.hpp>
#include <tools/block_log/block_log_format.hpp>
#include <tools/block_log/bytes.hpp>
#include <tools/block_log/log_record.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/forged_search.hpp>
#include <tests/tools/sample_blocks.hpp>

/// Records and indexes whose checksums are right and whose contents are not: what a faulty writer
/// or a hostile hand may leave. Nothing but typed errors and warnings may come of them.
using namespace chainbase;
using namespace chainbase::test;

namespace {

/// Puts `value`, little-endian, at `position`.
void put(std::string& raw, std::size_t position, std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i)
        raw[position + i] = static_cast<char>(value >> 8 * i);
}

std::string sealed(std::string raw) {
    put(raw, raw.size() - 8, checksum(bytes_of(raw).first(raw.size() - 8)), 8);
    return raw;
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

/// A log of this one record; its path.
std::filesystem::path log_of(const temporary_folder& folder, const std::string& record) {
    write_log(folder / "empty", {});
    write_file(folder / "log", read_file(folder / "empty") + record);
    std::filesystem::remove(index_path(folder / "log"));
    return folder / "log";
}

void check_torn(const std::string& record, const std::string& reason) {
    const temporary_folder folder;
    const auto path = log_of(folder, record);
    const captured_log log;
    CHECK(block_log_reader(path).empty());
    CHECK(log.says(reason));
}

void check_damaged(const std::string& record, const std::string& reason) {
    const temporary_folder folder;
    const auto path = log_of(folder, record);
    const captured_log quiet;
    const block_log_reader reader(path);
    CHECK_THROWS_WITH(read_all(reader.stream()),
                      Catch::Contains(reason) && Catch::Contains("byte 64"));
}

const std::vector<block> blocks = sample_blocks(3);
const std::string honest = record_of(batch_of(blocks));

} // namespace

TEST_CASE("a record whose fields contradict each other is no record") {
    std::string forged = honest;
    put(forged, 12, 0, 4);
    check_torn(sealed(forged), "impossible block numbers");
    forged = honest;
    put(forged, 24, blocks[0].number - 1, 8);
    check_torn(sealed(forged), "impossible block numbers");
    forged = honest;
    put(forged, forged.size() - 16, forged.size() + 1, 4);
    check_torn(sealed(forged), "trailer does not match");
    forged = honest;
    put(forged, forged.size() - 12, 0, 4);
    check_torn(sealed(forged), "trailer does not match");
}

TEST_CASE("a length above the limit is refused before memory is taken for it") {
    std::string forged = honest;
    put(forged, 8, block_log_format::max_record_bytes + 1, 4);
    check_torn(sealed(forged), "exceeds the limit");

    const temporary_folder folder;
    forged = honest;
    put(forged, 4, block_log_format::max_record_bytes + 1, 4);
    const auto path = log_of(folder, forged);
    std::filesystem::resize_file(path, 2ull * block_log_format::max_record_bytes); // sparse
    const file log = file::open_read(path);
    CHECK_THAT(check_record(log, 64, log.size()).reason, Catch::Contains("exceeds the limit"));
}

TEST_CASE("a payload that is not what the header says is damage") {
    std::string forged = honest;
    put(forged, 32, 0, 4);
    check_damaged(sealed(forged), "do not unpack");
    forged = honest;
    put(forged, 8, batch_of(blocks).unpacked.size() + 1, 4);
    check_damaged(sealed(forged), "another length");
    forged = honest;
    put(forged, 8, batch_of(blocks).unpacked.size() - 1, 4);
    check_damaged(sealed(forged), "do not unpack");
}

TEST_CASE("a record with other blocks than it states is damage") {
    for (const std::uint32_t stated : {2u, 4u}) {
        record_batch batch = batch_of(blocks);
        batch.blocks = stated;
        check_damaged(record_of(batch), "another number of blocks");
    }
    record_batch batch = batch_of(blocks);
    ++batch.last_number;
    check_damaged(record_of(batch), "not with the block that it states");
    batch = batch_of(blocks);
    ++batch.first_number;
    check_damaged(record_of(batch), "out of order");
    check_damaged(record_of(batch_of({blocks[0], blocks[2], blocks[1], blocks[2]})),
                  "out of order");
}

TEST_CASE("blocks that are malformed within a valid record are damage") {
    record_batch batch = batch_of(blocks);
    batch.unpacked.pop_back();
    check_damaged(record_of(batch), "exceeds the bytes left");
    batch = batch_of(blocks);
    batch.unpacked.push_back(std::byte{0x85});
    check_damaged(record_of(batch), "ends in the middle of a value");
}

TEST_CASE("what only looks like records is not searched without end") {
    const temporary_folder folder;
    const auto path = log_of(folder, honest + "?" + seeming_records(1000, 1 << 16));
    const captured_log quiet;
    CHECK_THROWS_WITH(block_log_reader(path),
                      Catch::Contains("looks like a record") && Catch::Contains("cannot be told"));

    const file log = file::open_read(path);
    search_budget budget(log.size());
    int told = 0;
    const search_result found =
        search_record(log, 64 + honest.size(), log.size(), budget, [&](auto, auto) { ++told; });
    CHECK(found.gave_up);
    CHECK_FALSE(found.record);
    CHECK(told > 4); // for each, so that who waits can end it
    CHECK(told < 20);
}

TEST_CASE("an index that contradicts itself is rebuilt") {
    const temporary_folder folder;
    const auto path = folder / "log";
    write_log(path, blocks);
    const std::string index = read_file(index_path(path));
    const auto deliver = [&]() -> std::vector<block> {
        try {
            return read_log(path);
        } catch (const damaged_error&) {
            return blocks; // consistent in itself, but not with the log: found on reading
        }
    };
    // log_bytes, last number, blocks; of the three records offset, first number, blocks before
    for (const std::size_t field : {24, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120}) {
        const auto now = static_cast<unsigned char>(index[field]);
        for (const std::uint64_t value :
             {std::uint64_t{0}, UINT64_MAX - 100, now + 1ul, now - 1ul}) {
            std::string forged = index;
            put(forged, field, value, 8);
            write_file(index_path(path), sealed(forged));
            const captured_log quiet;
            CHECK(deliver() == blocks);
        }
    }
}
