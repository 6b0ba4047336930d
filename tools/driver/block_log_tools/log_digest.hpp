#pragma once

#include <tools/driver/block_log_tools/block_range.hpp>
#include <tools/driver/log_progress.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace chainbase::driver {

/// The content of a range of blocks in one number, however they are packed into records: two logs
/// with the same digest hold the same blocks.
struct log_digest {
    std::string chain;
    std::uint64_t first = 0; ///< number of the first block
    std::uint64_t last = 0;
    std::uint64_t blocks = 0;
    std::uint64_t transactions = 0;
    std::uint64_t operations = 0;
    std::uint64_t bytes = 0; ///< of the encoded blocks, each with its length in front
    std::string sha256;      ///< of those bytes
};

/// Reads the blocks of the range. Throws usage_error when none lies in it, what block_log_reader
/// throws, also for damage that it comes upon, and interrupted_error.
[[nodiscard]] log_digest digest_of(const std::filesystem::path& log, const block_range& range,
                                   log_progress& shown);

/// The report as one JSON object, and for people.
[[nodiscard]] std::string to_json(const log_digest& digest);
[[nodiscard]] std::string to_text(const log_digest& digest);

} // namespace chainbase::driver
