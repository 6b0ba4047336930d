#include <pool_allocator/error.hpp>
#include <tools/chains/swap/operations.hpp>
#include <tools/driver/import/import.hpp>
#include <tools/driver/import/unfinished_log.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/packed_tables.hpp>

using namespace chainbase;
using namespace chainbase::test;

namespace {

const std::string columns = "block_num,timestamp,transaction,owner,pair_id,quantity_in,"
                            "quantity_out,fee,reserve0,reserve1\n";
const std::string rest = ",alice,7,0.0536 EOS,14.90 SX,0.0002 EOS,100.0000 EOS,2797.00 SX\n";

/// Imports a table with these rows.
import_summary import_rows(const temporary_folder& folder, std::string_view rows) {
    write_packed(folder / "swaps.csv.zst", columns + std::string(rows));
    return import_eos_swap_2022(folder.path(), folder / "log");
}

std::string refusal(std::string_view rows) {
    const temporary_folder folder;
    const std::string message = message_of<format_error>([&] { (void)import_rows(folder, rows); });
    CHECK_FALSE(std::filesystem::exists(folder / "log"));
    CHECK_FALSE(std::filesystem::exists(folder / "log.unfinished"));
    return message;
}

} // namespace

TEST_CASE("rows become blocks, transactions and operations in their order") {
    const temporary_folder folder;
    const auto summary = import_rows(folder, "20,1000,1" + rest + "20,1000,1" + rest + "20,1000,2" +
                                                 rest + "25,1002,3" + rest);
    CHECK(summary.blocks == 2);
    CHECK(summary.transactions == 3);
    CHECK(summary.operations == 4);
    CHECK(summary.bytes == std::filesystem::file_size(folder / "log"));
    CHECK(block_log_reader(folder / "log").chain() == swap::chain_name);

    const auto blocks = blocks_of(folder / "log");
    REQUIRE(blocks.size() == 2);
    CHECK(blocks[0].number == 20);
    CHECK(blocks[0].timestamp == 1000);
    REQUIRE(blocks[0].transactions.size() == 2);
    CHECK(blocks[0].transactions[0].operations.size() == 2);
    CHECK(blocks[0].transactions[1].operations.size() == 1);
    CHECK(blocks[1].number == 25);
    CHECK(blocks[1].timestamp == 1002);
    const swap::operation expected = swap::swap{"alice",           7,
                                                {536, 4, "EOS"},   {1490, 2, "SX"},
                                                {2, 4, "EOS"},     {1'000'000, 4, "EOS"},
                                                {279'700, 2, "SX"}};
    CHECK(swap::decode_operation(blocks[1].transactions[0].operations[0]) == expected);
}

TEST_CASE("a malformed row is refused with line and column, and no log is left") {
    using Catch::Contains;
    const std::string good = "20,1000,1" + rest;
    CHECK_THAT(refusal(good + "20,1000\n"), Contains("swaps.csv.zst: line 3: has 2 columns"));
    CHECK_THAT(refusal(good + "x,1000,1" + rest), Contains("line 3, column 1 (block_num): \"x\""));
    CHECK_THAT(refusal("-1,1000,1" + rest), Contains("line 2, column 1 (block_num)"));
    CHECK_THAT(refusal(good + "19,1000,2" + rest), Contains("below the row before"));
    CHECK_THAT(refusal(good + "20,1001,1" + rest), Contains("column 2 (timestamp): \"1001\""));
    CHECK_THAT(refusal(good + "21,999,2" + rest), Contains("column 2 (timestamp)"));
    CHECK_THAT(refusal(good + "20,1000,3" + rest), Contains("column 3 (transaction)"));
    CHECK_THAT(refusal(good + "21,1000,1" + rest), Contains("column 3 (transaction)"));
    CHECK_THAT(refusal("20,1000,1,,7,1 A,1 A,1 A,1 A,1 A\n"), Contains("column 4 (owner)"));
    CHECK_THAT(refusal("20,1000,1,a,4294967296,1 A,1 A,1 A,1 A,1 A\n"),
               Contains("column 5 (pair_id)"));
    CHECK_THAT(refusal("20,1000,1,a,7,1 A,1 A,0.5,1 A,1 A\n"), Contains("column 8 (fee): \"0.5\""));
    CHECK_THAT(refusal("20,1000,1,a,7,1 A,1 A,1 A,1 A,1 A,\n"), Contains("has 11 columns"));
    CHECK_THAT(refusal("\n"), Contains("line 2: has 1 columns"));
}

TEST_CASE(
    "a file that appears under the log's name while it is made stays, and so do no leftovers") {
    const temporary_folder folder;
    {
        unfinished_log log(folder / "log", "sample-chain");
        log.append({1, 3, {}});
        write_file(folder / "log", "precious");
        CHECK_THROWS_AS(log.finish(), usage_error);
    }
    CHECK(read_file(folder / "log") == "precious");
    CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("a table with other columns, or none, is refused") {
    const temporary_folder folder;
    const auto import = [&] { (void)import_eos_swap_2022(folder.path(), folder / "log"); };
    write_packed(folder / "swaps.csv.zst", "block_num,time" + columns.substr(19));
    CHECK_THAT(message_of<format_error>(import), Catch::Contains("line 1, column 2 (timestamp)"));
    write_packed(folder / "swaps.csv.zst", "");
    CHECK_THAT(message_of<format_error>(import), Catch::Contains("line 1"));
}

TEST_CASE("a missing, foreign or truncated table is refused by name") {
    const temporary_folder folder;
    const auto import = [&] { (void)import_eos_swap_2022(folder.path(), folder / "log"); };
    const auto table = folder / "swaps.csv.zst";
    CHECK_THAT(message_of<io_error>(import), Catch::Contains(table.string()));
    write_file(table, columns + "20,1000,1" + rest);
    CHECK_THAT(message_of<damaged_error>(import), Catch::Contains(table.string()));

    const std::string whole = packed(columns + "20,1000,1" + rest);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        write_file(table, whole.substr(0, size));
        REQUIRE_THROWS_AS(import(), damaged_error);
        REQUIRE_FALSE(std::filesystem::exists(folder / "log"));
    }
    write_file(table, whole);
    CHECK_NOTHROW(import());
}

TEST_CASE("tables of any size and frame structure are read to the last byte") {
    std::string rows;
    std::size_t count = 0;
    // 128 KiB is what zstd hands out at a time: sizes on both sides of its multiples.
    while (rows.size() < (600 << 10)) {
        ++count;
        rows += std::to_string(20 + count) + ",1000," + std::to_string(count) + rest;
    }
    const temporary_folder folder;
    CHECK(import_rows(folder, rows).operations == count);
    std::filesystem::remove(folder / "log");

    const std::size_t half = rows.size() / 2;
    write_file(folder / "swaps.csv.zst",
               packed(columns + rows.substr(0, half)) + packed("") + packed(rows.substr(half)));
    CHECK(import_eos_swap_2022(folder.path(), folder / "log").operations == count);
    std::filesystem::remove(folder / "log");

    rows.pop_back(); // the last line needs no end
    CHECK(import_rows(folder, rows).operations == count);
}

TEST_CASE("text that ends exactly where zstd's output buffer does is read to the last byte") {
    const auto row_of = [](std::size_t owner) { return std::string(owner, 'o').append(rest, 6); };
    const std::string lead = "20,1000,1,";
    const std::size_t row = (lead + row_of(1)).size();
    const std::size_t room = (128 << 10) - columns.size();
    std::size_t left_over = room % row; // to be spread over longer owners
    std::string rows;
    for (std::size_t i = 0; i < room / row; ++i) {
        const std::size_t more = std::min<std::size_t>(left_over, 15);
        rows += lead + row_of(1 + more);
        left_over -= more;
    }
    REQUIRE(columns.size() + rows.size() == 128 << 10);
    const temporary_folder folder;
    CHECK(import_rows(folder, rows).operations == room / row);
}

TEST_CASE("text that zstd holds back when its input is used up is read to the last byte") {
    std::string rows;
    for (int i = 0; i < 6000; ++i)
        rows += "20,1000,1" + rest;
    const temporary_folder folder;
    // A first part of 100 KiB: the frame's parts no longer match the 128 KiB handed out at a time.
    write_file(folder / "swaps.csv.zst", packed_in_parts(columns + rows, 100 << 10));
    CHECK(import_eos_swap_2022(folder.path(), folder / "log").operations == 6000);
}

TEST_CASE("an existing block log is not overwritten, a leftover is") {
    const temporary_folder folder;
    write_file(folder / "log", "precious");
    CHECK_THROWS_AS(import_rows(folder, "20,1000,1" + rest), usage_error);
    CHECK(read_file(folder / "log") == "precious");
    std::filesystem::remove(folder / "log");
    write_file(folder / "log.unfinished", "half");
    CHECK(import_rows(folder, "20,1000,1" + rest).operations == 1);
    CHECK_FALSE(std::filesystem::exists(folder / "log.unfinished"));
}
