#pragma once

#include <tools/driver/block_log_tools/block_range.hpp>
#include <tools/driver/log_progress.hpp>

#include <cstdint>
#include <filesystem>

namespace chainbase::driver {

struct print_options {
    std::filesystem::path log;
    block_range range;
    /// Blocks to print at most.
    std::uint64_t limit = UINT64_MAX;
    /// Whether what the blocks hold is printed, too.
    bool operations = false;
    /// One object with all blocks instead of a line for each.
    bool json = false;
};

/// Prints the blocks of the range to stdout, a JSON object each, as it reads them. An operation
/// that does not decode is printed in hex with what is wrong; returns how many there were.
///
/// Throws usage_error when no block lies in the range, what block_log_reader throws, also for
/// damage that it comes upon: the blocks before it are printed then. After interrupted_error the
/// output is complete up to a block, too.
[[nodiscard]] std::uint64_t print_log(const print_options& options, log_progress& shown);

} // namespace chainbase::driver
