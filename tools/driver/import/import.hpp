#pragma once

#include <boost/describe/class.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace chainbase {

/// What an import made.
struct import_summary {
    std::string chain;
    std::uint64_t blocks = 0;
    std::uint64_t transactions = 0;
    std::uint64_t operations = 0;
    std::uint64_t bytes = 0; // of the block log
};
BOOST_DESCRIBE_STRUCT(import_summary, (), (chain, blocks, transactions, operations, bytes))

/// Both read a folder of tables and make a block log, bit for bit the same from the same tables and
/// the same zstd version. The log appears under its name only when it is complete. They throw
/// usage_error when `block_log` exists, io_error when a table is missing, damaged_error when one is
/// truncated or altered, format_error with file, line and column when a row is malformed,
/// out_of_space_error. One import into the same path at a time.

/// From accounts.txt.zst, posts.csv.zst and votes.csv.zst to operations of chains/social, under the
/// rules declared in its README.md.
import_summary import_steem_2016(const std::filesystem::path& from_folder,
                                 const std::filesystem::path& block_log);

/// From swaps.csv.zst to operations of chains/swap: one per row, in the order of the rows.
import_summary import_eos_swap_2022(const std::filesystem::path& from_folder,
                                    const std::filesystem::path& block_log);

} // namespace chainbase
