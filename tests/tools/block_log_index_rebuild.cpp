#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/sample_blocks.hpp>

using namespace chainbase;
using namespace chainbase::test;

namespace {

/// Opens the log, which must say `expected` about its index (nothing: use it silently), deliver
/// every block and leave the right index behind.
void check_index(const std::filesystem::path& path, const std::vector<block>& blocks,
                 const std::string& index, std::string_view expected) {
    {
        const captured_log log;
        REQUIRE(read_log(path) == blocks);
        REQUIRE(log.says("the index") == !expected.empty());
        REQUIRE(log.says(expected));
    }
    REQUIRE(read_file(index_path(path)) == index);
}

} // namespace

TEST_CASE("an index that is missing, short, foreign or damaged is rebuilt") {
    const auto blocks = sample_blocks(20);
    const temporary_folder folder;
    const auto path = folder / "log";
    write_log(path, blocks, 100);
    const std::string index = read_file(index_path(path));
    check_index(path, blocks, index, "");

    std::filesystem::remove(index_path(path));
    check_index(path, blocks, index, "is missing");
    write_file(index_path(path), index + "x");
    check_index(path, blocks, index, "is short");
    write_file(index_path(path), std::string(200, 'x'));
    check_index(path, blocks, index, "is no index");
    for (std::size_t size = 0; size < index.size(); ++size) {
        write_file(index_path(path), index.substr(0, size));
        check_index(path, blocks, index, "is short");
    }
    for (std::size_t at = 0; at < index.size(); ++at) {
        std::string damaged = index;
        damaged[at] ^= 16;
        write_file(index_path(path), damaged);
        check_index(path, blocks, index, "the index");
    }
}

TEST_CASE("an index of another log is not used") {
    const auto blocks = sample_blocks(20);
    const temporary_folder folder;
    const auto path = folder / "log";
    write_log(folder / "same-size", sample_blocks(20, 2), 100);
    auto other_chain = block_log_writer::create(folder / "other-chain", "other");
    other_chain.close();
    write_log(path, blocks, 100);
    const std::string index = read_file(index_path(path));

    write_file(index_path(path), read_file(index_path(folder / "same-size")));
    check_index(path, blocks, index, "does not fit the log");
    write_file(index_path(path), read_file(index_path(folder / "other-chain")));
    check_index(path, blocks, index, "belongs to another log");
}

TEST_CASE("an index older than the log is extended, one newer is rebuilt") {
    const auto blocks = sample_blocks(20);
    const temporary_folder folder;
    const auto path = folder / "log";
    write_log(folder / "older", first_of(blocks, 12));
    write_log(path, blocks);
    const std::string index = read_file(index_path(path));

    write_file(index_path(path), read_file(index_path(folder / "older")));
    check_index(path, blocks, index, "is older than the log; 8 records scanned, 20 blocks");
    write_file(index_path(folder / "older"), index);
    check_index(
        folder / "older", first_of(blocks, 12),
        [&] {
            write_log(folder / "again", first_of(blocks, 12));
            return read_file(index_path(folder / "again"));
        }(),
        "does not fit the log");
}

TEST_CASE("a log whose index can neither be read nor saved is read all the same") {
    const auto blocks = sample_blocks(20);
    const temporary_folder folder;
    const auto path = folder / "log";
    write_log(path, blocks);
    std::filesystem::remove(index_path(path));
    // A folder in the index's place refuses both, even for root.
    std::filesystem::create_directories(index_path(path) / "taken");
    const captured_log log;
    CHECK(read_log(path) == blocks);
    CHECK(log.says("the index cannot be read"));
    CHECK(log.says("the index is not saved"));
}
