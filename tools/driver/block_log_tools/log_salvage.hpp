#pragma once

#include <tools/driver/block_log_tools/log_copy.hpp>
#include <tools/driver/block_log_tools/record_walk.hpp>
#include <tools/driver/log_progress.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace chainbase::driver {

struct salvage_options {
    std::filesystem::path log;
    /// One log of what stands before the first damage, or
    std::filesystem::path to;
    /// a folder with a log of every stretch between damages.
    std::filesystem::path to_folder;
};

/// What was saved of a log, and what was not.
struct salvage_report {
    std::string chain;
    std::vector<made_log> logs;
    std::uint64_t lost_count = 0;
    std::uint64_t lost_bytes = 0;
    std::vector<lost_stretch> lost; ///< the first ones; with `to` the only one
    /// With `to`: bytes behind the first damage that were not looked at.
    std::uint64_t left_bytes = 0;
};

/// Copies what is good in a log to new ones; the log stays as it is. No log that is made has a hole
/// that the damage caused: numbers need not be contiguous, so nobody who reads it would notice.
///
/// Throws usage_error when the target exists or nothing is good, what read_log_header and a writer
/// throw, and interrupted_error. Nothing is at the target then.
[[nodiscard]] salvage_report salvage_log(const salvage_options& options, log_progress& shown);

/// The report as one JSON object, and for people.
[[nodiscard]] std::string to_json(const salvage_report& report);
[[nodiscard]] std::string to_text(const salvage_report& report);

} // namespace chainbase::driver
