#pragma once

#include <tools/driver/block_log_tools/log_split.hpp>
#include <tools/driver/log_progress.hpp>

#include <filesystem>
#include <vector>

namespace chainbase::driver {

struct merge_options {
    std::filesystem::path to;
    /// In any order.
    std::vector<std::filesystem::path> from;
    /// Whether numbers may be missing between two logs.
    bool allow_gaps = false;
};

/// Makes one log of several of the same chain, in the order of their blocks; they stay as they are.
/// Nothing is made before all of them were looked at.
///
/// Throws usage_error naming the numbers when two overlap, when numbers are missing between two
/// (unless gaps are allowed), when chains differ, when there is no block, when `to` exists; what
/// block_log_reader and block_log_writer throw; and interrupted_error. Nothing is at `to` then.
[[nodiscard]] made_logs merge_logs(const merge_options& options, log_progress& shown);

} // namespace chainbase::driver
