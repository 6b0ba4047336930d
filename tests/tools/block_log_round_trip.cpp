#include <pool_allocator/error.hpp>
#include <tools/block_log/log_record.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/sample_blocks.hpp>

using namespace chainbase;
using namespace chainbase::test;

TEST_CASE("what is appended is read back, for every batch size") {
    const auto blocks = sample_blocks(300);
    for (const std::uint32_t batch : {0u, 1u, 100u, 1000u, 1u << 20}) {
        const temporary_folder folder;
        write_log(folder / "log", blocks, batch);
        const block_log_reader reader(folder / "log", sample_chain);
        CHECK(reader.chain() == sample_chain);
        CHECK(reader.count() == blocks.size());
        CHECK(reader.first_number() == blocks.front().number);
        CHECK(reader.head_number() == blocks.back().number);
        CHECK(reader.bytes() == std::filesystem::file_size(folder / "log"));
        CHECK(read_all(reader.stream()) == blocks);
    }
}

TEST_CASE("a block is found by its number, a gap in the numbers is no block") {
    const auto blocks = sample_blocks(200);
    const temporary_folder folder;
    write_log(folder / "log", blocks, 300);
    const block_log_reader reader(folder / "log");
    auto expected = blocks.begin();
    for (std::uint64_t number = 990; number <= blocks.back().number + 10; ++number) {
        const bool exists = expected != blocks.end() && expected->number == number;
        const auto found = reader.read(number);
        REQUIRE(found.has_value() == exists);
        if (exists) REQUIRE(*found == *expected++);
    }
}

TEST_CASE("a stream begins at any number") {
    const auto blocks = sample_blocks(60);
    const temporary_folder folder;
    write_log(folder / "log", blocks, 300);
    const block_log_reader reader(folder / "log");
    for (std::uint64_t from = 990; from <= blocks.back().number + 2; ++from) {
        std::vector<block> expected;
        for (const block& one : blocks)
            if (one.number >= from) expected.push_back(one);
        block_log_stream stream = reader.stream(from);
        REQUIRE(stream.blocks_behind() == blocks.size() - expected.size());
        REQUIRE(read_all(std::move(stream)) == expected);
    }
}

TEST_CASE("a stream's position rises to the log's size") {
    const temporary_folder folder;
    write_log(folder / "log", sample_blocks(100), 300);
    const block_log_reader reader(folder / "log");
    block_log_stream stream = reader.stream();
    std::uint64_t before = stream.position();
    CHECK(before == 64);
    while (stream.next()) {
        CHECK(stream.position() > before);
        before = stream.position();
    }
    CHECK(before == reader.bytes());
    CHECK(stream.blocks_behind() == reader.count());
}

TEST_CASE("the position of a block is told without reading it") {
    const auto blocks = sample_blocks(100);
    const temporary_folder folder;
    write_log(folder / "log", blocks); // a record each: every position is exact
    const block_log_reader reader(folder / "log");
    block_log_stream stream = reader.stream();
    CHECK(reader.position_of(0) == stream.position());
    while (const auto next = stream.next())
        CHECK(reader.position_of(next->number) == stream.position());
    CHECK(reader.position_of(UINT64_MAX) == reader.bytes());
    write_log(folder / "batches", blocks, 300);
    const block_log_reader batches(folder / "batches");
    std::uint64_t before = 64;
    for (const block& one : blocks) {
        CHECK(batches.position_of(one.number) > before);
        before = batches.position_of(one.number);
    }
    CHECK(before == batches.bytes());
    CHECK(block_log_reader(folder / "batches").position_of(1) == 64);
}

TEST_CASE("a log is appended to over several openings") {
    const auto blocks = sample_blocks(50);
    const temporary_folder folder;
    write_log(folder / "log", {});
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        auto writer = block_log_writer::open(folder / "log", sample_chain);
        REQUIRE(writer.count() == i);
        writer.append(blocks[i]);
        REQUIRE(writer.head_number() == blocks[i].number);
        if (i % 2 == 0) writer.close();
    }
    CHECK(read_log(folder / "log") == blocks);
}

TEST_CASE("an empty log has no blocks") {
    const temporary_folder folder;
    write_log(folder / "log", {});
    const block_log_reader reader(folder / "log");
    CHECK(reader.empty());
    CHECK_FALSE(reader.head_number().has_value());
    CHECK_FALSE(reader.first_number().has_value());
    CHECK_FALSE(reader.read(0).has_value());
    CHECK_FALSE(reader.stream().next().has_value());
    CHECK(reader.stream().position() == reader.bytes());
}

TEST_CASE("a reader sees what was flushed, not what waits") {
    const auto blocks = sample_blocks(10);
    const temporary_folder folder;
    auto writer = block_log_writer::create(folder / "log", sample_chain);
    writer.append(blocks[0]);
    CHECK(block_log_reader(folder / "log").empty());
    writer.flush();
    CHECK(read_log(folder / "log") == first_of(blocks, 1));
    writer.append(blocks[1]);
    writer.sync();
    CHECK(read_log(folder / "log") == first_of(blocks, 2));
}

TEST_CASE("a number that does not rise is refused and leaves the writer usable") {
    const auto blocks = sample_blocks(3);
    const temporary_folder folder;
    auto writer = block_log_writer::create(folder / "log", sample_chain);
    writer.append(blocks[1]);
    CHECK_THROWS_AS(writer.append(blocks[0]), usage_error);
    CHECK_THROWS_AS(writer.append(blocks[1]), usage_error);
    writer.append(blocks[2]);
    writer.close();
    CHECK(read_log(folder / "log") == std::vector{blocks[1], blocks[2]});
}

TEST_CASE("the first block may have number 0 and the last the highest number") {
    const std::vector<block> blocks{{0, INT64_MIN, {}}, {UINT64_MAX, INT64_MAX, {}}};
    const temporary_folder folder;
    write_log(folder / "log", blocks);
    CHECK(read_log(folder / "log") == blocks);
    CHECK(block_log_reader(folder / "log").read(UINT64_MAX) == blocks[1]);
}

TEST_CASE("a block larger than a batch is a record of its own, one too large is refused") {
    const temporary_folder folder;
    const block large{1, 0, {{{bytes(1 << 20, std::byte{7})}}}};
    const block too_large{2, 0, {{{bytes(33 << 20)}}}};
    auto writer = block_log_writer::create(folder / "log", sample_chain, {1, 1000});
    writer.append(large);
    CHECK_THROWS_AS(writer.append(too_large), limit_error);
    writer.close();
    CHECK(read_log(folder / "log") == std::vector{large});
}

TEST_CASE("a log is walked backwards by its trailers alone") {
    const auto blocks = sample_blocks(40);
    const temporary_folder folder;
    write_log(folder / "log", blocks);
    const file log = file::open_read(folder / "log");
    std::uint64_t end = log.size();
    for (auto expected = blocks.rbegin(); expected != blocks.rend(); ++expected) {
        const record_check check = check_record_before(log, end);
        REQUIRE(check.record);
        REQUIRE(check.record->last_number() == expected->number);
        end = check.record->offset();
    }
    CHECK(end == 64);
    CHECK_FALSE(check_record_before(log, end).record);
}

TEST_CASE("a second writer is refused while the first has the log open") {
    const temporary_folder folder;
    auto writer = block_log_writer::create(folder / "log", sample_chain);
    CHECK_THROWS_AS(block_log_writer::open(folder / "log", sample_chain), locked_error);
    writer.close();
    CHECK_NOTHROW(block_log_writer::open(folder / "log", sample_chain));
}

TEST_CASE("an existing file is never overwritten by a new log") {
    const temporary_folder folder;
    write_file(folder / "log", "precious");
    CHECK_THROWS_AS(block_log_writer::create(folder / "log", sample_chain), usage_error);
    CHECK(read_file(folder / "log") == "precious");
}

TEST_CASE("wrong options and names are refused before a file is made") {
    const temporary_folder folder;
    const auto create = [&](std::string_view chain, block_log_options options) {
        (void)block_log_writer::create(folder / "log", chain, options);
    };
    CHECK_THROWS_AS(create("", {}), usage_error);
    CHECK_THROWS_AS(create(std::string(33, 'x'), {}), usage_error);
    CHECK_THROWS_AS(create("x", {20, 0}), usage_error);
    CHECK_THROWS_AS(create("x", {3, max_batch_bytes + 1}), usage_error);
    CHECK_FALSE(std::filesystem::exists(folder / "log"));
}
