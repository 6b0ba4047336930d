#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/file_size_limit.hpp>
#include <tests/tools/sample_blocks.hpp>

using namespace chainbase;
using namespace chainbase::test;

TEST_CASE("without room for a record the log keeps its last good block, at every size") {
    const auto blocks = sample_blocks(3);
    const temporary_folder folder;
    write_log(folder / "complete", blocks);
    write_log(folder / "short", first_of(blocks, 2));
    const std::string complete = read_file(folder / "complete");
    const std::string good = read_file(folder / "short");
    for (std::size_t room = good.size(); room < complete.size(); ++room) {
        std::filesystem::remove(folder / "log");
        write_log(folder / "log", first_of(blocks, 2));
        auto writer = block_log_writer::open(folder / "log", sample_chain);
        writer.append(blocks[2]);
        {
            const file_size_limit limit(room);
            REQUIRE_THROWS_AS(writer.flush(), out_of_space_error);
            REQUIRE_THROWS_AS(writer.flush(), out_of_space_error);
        }
        REQUIRE(read_file(folder / "log") == good);
        REQUIRE(writer.count() == 3);
        writer.close(); // there is room again
        REQUIRE(read_file(folder / "log") == complete);
    }
}

TEST_CASE("a block is not appended when the batch before it finds no room") {
    const auto blocks = sample_blocks(3);
    const temporary_folder folder;
    auto writer = block_log_writer::create(folder / "log", sample_chain, {3, 0});
    writer.append(blocks[0]);
    {
        const file_size_limit limit(70);
        CHECK_THROWS_WITH(writer.append(blocks[1]), Catch::Contains((folder / "log").string()) &&
                                                        Catch::Contains("at byte 70"));
        CHECK(writer.head_number() == blocks[0].number);
    }
    writer.append(blocks[1]);
    writer.close();
    CHECK(read_log(folder / "log") == first_of(blocks, 2));
}

TEST_CASE("without room for the header no log is left behind") {
    const temporary_folder folder;
    const file_size_limit limit(20);
    CHECK_THROWS_AS(block_log_writer::create(folder / "log", sample_chain), out_of_space_error);
    CHECK_FALSE(std::filesystem::exists(folder / "log"));
}

TEST_CASE("without room a writer going away says so and the log stays valid") {
    const auto blocks = sample_blocks(2);
    const temporary_folder folder;
    write_log(folder / "log", first_of(blocks, 1));
    const std::string good = read_file(folder / "log");
    const captured_log log;
    {
        auto writer = block_log_writer::open(folder / "log", sample_chain);
        writer.append(blocks[1]);
        const file_size_limit limit(good.size());
        // The limit must outlive the writer, whose destructor is to meet it.
        const auto doomed = std::make_unique<block_log_writer>(std::move(writer));
    }
    CHECK(log.says("1 blocks are not written"));
    CHECK(read_file(folder / "log") == good);
}
