#pragma once

#include <tools/driver/block_log_tools/block_range.hpp>
#include <tools/driver/block_log_tools/log_split.hpp>
#include <tools/driver/log_progress.hpp>

#include <filesystem>

namespace chainbase::driver {

/// Makes a new log at `to` of the blocks of the range; the old one stays as it is. Throws
/// usage_error when `to` exists or no block lies in the range, what block_log_reader and
/// block_log_writer throw, and interrupted_error. Nothing is at `to` then.
[[nodiscard]] made_logs trim_log(const std::filesystem::path& log, const std::filesystem::path& to,
                                 const block_range& range, log_progress& shown);

} // namespace chainbase::driver
