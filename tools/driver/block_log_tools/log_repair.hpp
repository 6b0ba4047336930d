#pragma once

#include <tools/driver/block_log_tools/log_making.hpp>
#include <tools/driver/block_log_tools/record_walk.hpp>
#include <tools/driver/log_progress.hpp>

#include <boost/describe/class.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace chainbase::driver {

/// What building a log's index anew came to.
struct index_repair {
    std::string chain;
    std::string before;   ///< what the index beside the log was: "is missing"
    bool changed = false; ///< whether it was written
    std::uint64_t records = 0;
    std::uint64_t blocks = 0;
    std::uint64_t records_before = 0; ///< that the old index told of; 0 when it was unusable
    std::uint64_t torn_bytes = 0;
};
BOOST_DESCRIBE_STRUCT(index_repair, (),
                      (chain, before, changed, records_before, records, blocks, torn_bytes))

/// Verifies every record of the log and replaces the index beside it unless it is the same already.
///
/// Throws damaged_error for a log that is damaged, also when only the index beside it tells that
/// its invalid end was complete once: that witness is kept. Throws io_error or out_of_space_error
/// when the index cannot be written, and interrupted_error. The old index stays then.
[[nodiscard]] index_repair repair_index(const std::filesystem::path& log, log_progress& shown);

/// For people.
[[nodiscard]] std::string to_text(const index_repair& report);

struct salvage_options {
    std::filesystem::path log;
    /// One log of what stands before the first damage, or
    std::filesystem::path to;
    /// a folder with a log of every stretch between damages.
    std::filesystem::path to_folder;
};

/// What was saved of a log, and what was not.
struct salvage_report : made_logs {
    std::uint64_t lost_count = 0;
    std::uint64_t lost_bytes = 0;
    std::vector<lost_stretch> lost; ///< the first ones; with `to` the only one
    /// With `to`: bytes behind the first damage that were not looked at.
    std::uint64_t left_bytes = 0;
};
BOOST_DESCRIBE_STRUCT(salvage_report, (made_logs), (lost_count, lost_bytes, lost, left_bytes))

/// Copies what is good in a log to new ones; the log stays as it is. No log that is made has a hole
/// that the damage caused: numbers need not be contiguous, so nobody who reads it would notice.
///
/// Throws usage_error when the target exists or nothing is good, what read_log_header and a writer
/// throw, and interrupted_error. Nothing is at the target then.
[[nodiscard]] salvage_report salvage_log(const salvage_options& options, log_progress& shown);

/// For people.
[[nodiscard]] std::string to_text(const salvage_report& report);

} // namespace chainbase::driver
