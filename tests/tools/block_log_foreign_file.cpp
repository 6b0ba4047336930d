#include <pool_allocator/error.hpp>
#include <tools/block_log/block_log_format.hpp>
#include <tools/block_log/bytes.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/sample_blocks.hpp>

using namespace chainbase;
using namespace chainbase::test;

namespace {

/// Both ways to open `content` must throw E, and the file must stay as it is.
template <class E>
void check_refused(const std::string& content) {
    const temporary_folder folder;
    const auto path = folder / "log";
    write_file(path, content);
    REQUIRE_THROWS_AS(block_log_reader(path, sample_chain), E);
    REQUIRE_THROWS_AS(block_log_writer::open(path, sample_chain), E);
    REQUIRE(read_file(path) == content);
    REQUIRE_FALSE(std::filesystem::exists(index_path(path)));
}

std::string sample_header() {
    const temporary_folder folder;
    write_log(folder / "log", {});
    return read_file(folder / "log");
}

} // namespace

TEST_CASE("a file that is no block log is refused") {
    check_refused<format_error>("x");
    check_refused<format_error>("number,timestamp\n1,2\n");
    check_refused<format_error>(std::string(5000, '\0'));
    check_refused<format_error>(std::string("\x28\xb5\x2f\xfd", 4) + std::string(100, 'z'));
}

TEST_CASE("a log of another chain is refused by name") {
    const temporary_folder folder;
    write_log(folder / "log", sample_blocks(3));
    CHECK_THROWS_WITH(block_log_reader(folder / "log", "other"),
                      Catch::Contains("holds blocks of sample-chain, not of other"));
    CHECK_THROWS_AS(block_log_writer::open(folder / "log", "other"), format_error);
    CHECK_NOTHROW(block_log_reader(folder / "log"));
}

TEST_CASE("a log of a later format version is refused by number") {
    std::string content = sample_header();
    content[8] = 2;
    const std::uint64_t sum = checksum(bytes_of(content).first(56));
    for (int i = 0; i < 8; ++i)
        content[56 + i] = static_cast<char>(sum >> 8 * i);
    check_refused<format_error>(content);
}

TEST_CASE("a cut header is damage at any length") {
    const std::string content = sample_header();
    for (std::size_t size = 0; size < content.size(); ++size)
        check_refused<damaged_error>(content.substr(0, size));
}

TEST_CASE("a missing file or a folder is an input/output error") {
    const temporary_folder folder;
    CHECK_THROWS_AS(block_log_reader(folder / "none"), io_error);
    CHECK_THROWS_AS(block_log_reader(folder.path()), io_error);
    CHECK_THROWS_AS(block_log_writer::open(folder / "none", sample_chain), io_error);
    CHECK_THROWS_AS(block_log_writer::create(folder / "none" / "log", sample_chain), io_error);
}

TEST_CASE("a refused read tells where it was, and what to do") {
    const temporary_folder folder;
    const file nothing_to_read = file::open_read(folder.path());
    bytes some(100);
    CHECK_THROWS_WITH(nothing_to_read.read_at(4711, some),
                      Catch::Contains(folder.path().string()) && Catch::Contains("byte 4711") &&
                          Catch::Contains("try again"));
}
