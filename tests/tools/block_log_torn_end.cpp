#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/sample_blocks.hpp>

using namespace chainbase;
using namespace chainbase::test;

namespace {

/// A log of five one-block records and where its last record begins.
struct torn_sample {
    std::vector<block> blocks = sample_blocks(5);
    std::string complete;
    std::size_t last_record = 0;

    torn_sample() {
        const temporary_folder folder;
        write_log(folder / "short", first_of(blocks, 4));
        write_log(folder / "log", blocks);
        complete = read_file(folder / "log");
        last_record = read_file(folder / "short").size();
    }
};

/// Reader and writer must take `torn` for a log of the first four blocks.
void check_torn(const torn_sample& sample, const std::string& torn, bool with_index) {
    const temporary_folder folder;
    const auto path = folder / "log";
    if (with_index) write_log(path, sample.blocks);
    write_file(path, torn);
    const bool cut = torn.size() > sample.last_record;
    {
        const captured_log log;
        REQUIRE(read_log(path) == first_of(sample.blocks, 4));
        REQUIRE(log.says("the end is torn") == cut);
        REQUIRE(read_file(path) == torn);
    }
    const captured_log log;
    auto writer = block_log_writer::open(path, sample_chain);
    REQUIRE(log.says("are cut") == cut);
    REQUIRE(read_file(path) == sample.complete.substr(0, sample.last_record));
    writer.append(sample.blocks[4]);
    writer.close();
    REQUIRE(read_file(path) == sample.complete);
}

} // namespace

TEST_CASE("a log that ends at any byte of its last record is one without that record") {
    const torn_sample sample;
    for (std::size_t size = sample.last_record; size < sample.complete.size(); ++size) {
        check_torn(sample, sample.complete.substr(0, size), false);
        check_torn(sample, sample.complete.substr(0, size), true);
    }
}

TEST_CASE("a last record with a wrong byte anywhere is a torn end where no index knows it") {
    const torn_sample sample;
    for (std::size_t at = sample.last_record; at < sample.complete.size(); ++at) {
        std::string torn = sample.complete;
        torn[at] = static_cast<char>(~torn[at]);
        check_torn(sample, torn, false);
        const temporary_folder folder; // an index from before that record vouches for nothing
        write_log(folder / "log", first_of(sample.blocks, 4));
        write_file(folder / "log", torn);
        const captured_log log;
        REQUIRE(read_log(folder / "log") == first_of(sample.blocks, 4));
        REQUIRE(log.says("the end is torn"));
    }
}

TEST_CASE("a last record with a wrong byte is damage where the index knows it, and is not cut") {
    const torn_sample sample;
    const std::string block = "block " + std::to_string(sample.blocks[4].number) + " is expected";
    const std::string place = "byte " + std::to_string(sample.last_record);
    for (std::size_t at = sample.last_record; at < sample.complete.size(); ++at) {
        const temporary_folder folder;
        const auto path = folder / "log";
        write_log(path, sample.blocks);
        const std::string index = read_file(index_path(path));
        std::string damaged = sample.complete;
        damaged[at] = static_cast<char>(~damaged[at]);
        write_file(path, damaged);
        REQUIRE_THROWS_AS(block_log_writer::open(path, sample_chain), damaged_error);
        REQUIRE_THROWS_WITH(block_log_reader(path, sample_chain),
                            Catch::Contains(place) && Catch::Contains(block) &&
                                Catch::Contains("good copy") &&
                                Catch::Contains(index_path(path).string()));
        REQUIRE(read_file(path) == damaged);
        REQUIRE(read_file(index_path(path)) == index);
    }
}

TEST_CASE("zeros or leftovers behind the last record are a torn end") {
    const torn_sample sample;
    const std::string whole = sample.complete.substr(0, sample.last_record);
    check_torn(sample, whole + std::string(10'000, '\0'), false);
    check_torn(sample, whole + "x", true);
    check_torn(sample, whole + whole.substr(0, 100), false);
}

TEST_CASE("a valid record behind an invalid one makes it damage, and nothing is cut") {
    const torn_sample sample;
    const temporary_folder folder;
    std::string damaged = sample.complete;
    damaged[sample.last_record - 20] ^= 1;
    write_file(folder / "log", damaged);
    CHECK_THROWS_AS(block_log_writer::open(folder / "log", sample_chain), damaged_error);
    CHECK(read_file(folder / "log") == damaged);
}
