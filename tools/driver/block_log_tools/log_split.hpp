#pragma once

#include <tools/driver/block_log_tools/log_copy.hpp>
#include <tools/driver/log_progress.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::driver {

struct split_options {
    std::filesystem::path log;
    std::filesystem::path to_folder;
    /// Numbers at which a new piece begins, or
    std::vector<std::uint64_t> at;
    /// how many blocks a piece has.
    std::optional<std::uint64_t> every;
};

/// What was made, and of which chain.
struct made_logs {
    std::string chain;
    std::vector<made_log> logs;
};

/// Makes the pieces of a log in a new folder; the log stays as it is. A torn end is left out, as
/// when it is read. Throws usage_error when the folder exists, when the log is empty, or when a
/// number does not cut it in two; what block_log_reader and block_log_writer throw; and
/// interrupted_error. There is no folder then.
[[nodiscard]] made_logs split_log(const split_options& options, log_progress& shown);

} // namespace chainbase::driver
