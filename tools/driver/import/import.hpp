#pragma once

#include <boost/describe/class.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace chainbase {

/// The result of an import.
struct import_summary {
    std::string chain;
    std::uint64_t blocks = 0;
    std::uint64_t transactions = 0;
    std::uint64_t operations = 0;
    std::uint64_t bytes = 0; // of the block log
};
BOOST_DESCRIBE_STRUCT(import_summary, (), (chain, blocks, transactions, operations, bytes))

/// Both read a folder of tables and make a block log; equal tables and zstd versions give equal
/// bytes. The log appears under its name only when complete. They throw usage_error when
/// `block_log` exists, io_error when a table is missing, damaged_error when one is truncated or
/// altered, format_error with file, line and column when a row is malformed, out_of_space_error.
/// One import into the same path at a time.

/// Converts accounts.txt.zst, posts.csv.zst and votes.csv.zst to operations of chains/social, by
/// the rules in its README.md.
import_summary import_steem_2016(const std::filesystem::path& from_folder,
                                 const std::filesystem::path& block_log);

/// Converts swaps.csv.zst to operations of chains/swap: one per row, in row order.
import_summary import_eos_swap_2022(const std::filesystem::path& from_folder,
                                    const std::filesystem::path& block_log);

} // namespace chainbase
