#include <pool_allocator/error.hpp>
#include <tools/block_log/bytes.hpp>
#include <tools/block_log/log_record.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/file_size_limit.hpp>
#include <tests/tools/sample_blocks.hpp>

using namespace chainbase;
using namespace chainbase::test;

namespace {

constexpr std::uint32_t few_blocks = 200; // bytes of a batch

std::vector<log_record> records_of(const std::filesystem::path& path, std::uint64_t from = 0) {
    std::vector<log_record> all;
    auto records = block_log_reader(path).whole_records(from);
    while (auto next = records.next())
        all.push_back(std::move(*next));
    return all;
}

} // namespace

TEST_CASE("records copied as they are make the same log, also between blocks") {
    const auto blocks = sample_blocks(60);
    const temporary_folder folder;
    write_log(folder / "log", blocks, few_blocks);
    const auto records = records_of(folder / "log");
    REQUIRE(records.size() > 5);
    {
        auto writer = block_log_writer::create(folder / "copy", sample_chain);
        for (const log_record& one : records)
            writer.append(one);
        CHECK(writer.count() == blocks.size());
        CHECK_THROWS_AS(writer.append(records.back()), usage_error);
        writer.close();
    }
    CHECK(read_file(folder / "copy") == read_file(folder / "log"));
    CHECK(read_file(index_path(folder / "copy")) == read_file(index_path(folder / "log")));

    auto writer = block_log_writer::create(folder / "mixed", sample_chain);
    std::size_t at = 0;
    for (const log_record& one : records) { // every other record block by block
        const std::size_t end = at + one.blocks();
        if (at % 2 == 0) writer.append(one);
        for (; at < end; ++at)
            if (writer.head_number().value_or(0) < blocks[at].number) writer.append(blocks[at]);
    }
    writer.close();
    CHECK(read_log(folder / "mixed") == blocks);
}

TEST_CASE("a record that finds no room is not in the log") {
    const auto blocks = sample_blocks(20);
    const temporary_folder folder;
    write_log(folder / "log", blocks, few_blocks);
    auto writer = block_log_writer::create(folder / "copy", sample_chain);
    const auto records = records_of(folder / "log");
    writer.append(records[0]);
    {
        const file_size_limit limit(writer.bytes() + 10);
        CHECK_THROWS_AS(writer.append(records[1]), out_of_space_error);
        CHECK(writer.count() == records[0].blocks());
    }
    for (std::size_t i = 1; i < records.size(); ++i)
        writer.append(records[i]);
    writer.close();
    CHECK(read_log(folder / "copy") == blocks);
}

TEST_CASE("records begin with the one that holds the block asked for") {
    const auto blocks = sample_blocks(60);
    const temporary_folder folder;
    write_log(folder / "log", blocks, few_blocks);
    const auto all = records_of(folder / "log");
    for (const block& one : blocks) {
        const auto some = records_of(folder / "log", one.number);
        REQUIRE(some.front().first_number() <= one.number);
        REQUIRE(some.front().last_number() >= one.number);
    }
    CHECK(records_of(folder / "log", 1).size() == all.size());
    CHECK(records_of(folder / "log", blocks.back().number + 1).empty());
}

TEST_CASE("the blocks of a record are delivered with their bytes") {
    const auto blocks = sample_blocks(60);
    const temporary_folder folder;
    write_log(folder / "log", blocks, few_blocks);
    auto expected = blocks.begin();
    std::uint64_t unpacked = 0;
    for (const log_record& record : records_of(folder / "log")) {
        record_blocks inside(record);
        unpacked += record.unpacked_bytes();
        while (const auto next = inside.next()) {
            REQUIRE(*next == *expected++);
            bytes alone;
            byte_writer(alone).byte_string(encode_block(*next));
            REQUIRE(std::ranges::equal(alone, inside.encoded()));
        }
    }
    CHECK(expected == blocks.end());
    CHECK(block_log_reader(folder / "log").stated_unpacked_bytes() == unpacked);
}

TEST_CASE("a log opened to be looked at gets no index, and who watches can give up") {
    const auto blocks = sample_blocks(20);
    const temporary_folder folder;
    write_log(folder / "log", blocks);
    std::filesystem::remove(index_path(folder / "log"));
    std::uint64_t told = 0;
    opening_options options{.save_index = false, .use_index = true, .watch = {}, .on = nullptr};
    options.watch = [&](std::uint64_t done, std::uint64_t all) {
        CHECK(done >= told);
        CHECK(done < all);
        told = done;
    };
    const block_log_reader reader(folder / "log", {}, options);
    CHECK(reader.index_fault() == "is missing");
    CHECK(told > reader.bytes() / 2);
    CHECK(read_all(reader.stream()) == blocks);
    CHECK_FALSE(std::filesystem::exists(index_path(folder / "log")));
    options.watch = [](std::uint64_t, std::uint64_t) { throw usage_error("enough"); };
    CHECK_THROWS_WITH(block_log_reader(folder / "log", {}, options), "enough");

    const block_log_reader saving(folder / "log");
    CHECK(block_log_reader(folder / "log").index_fault().empty());
}
