#pragma once

#include <tools/driver/block_log_tools/log_making.hpp>
#include <tools/driver/block_log_tools/record_walk.hpp>
#include <tools/progress.hpp>

#include <boost/describe/class.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace chainbase::driver {

/// The result of rebuilding a log's index.
struct index_repair {
    std::string chain;
    std::string before;   ///< the state of the old index: "is missing"
    bool changed = false; ///< whether it was written
    std::uint64_t records = 0;
    std::uint64_t blocks = 0;
    std::uint64_t records_before = 0; ///< covered by the old index; 0 when it was unusable
    std::uint64_t torn_bytes = 0;
};
BOOST_DESCRIBE_STRUCT(index_repair, (),
                      (chain, before, changed, records_before, records, blocks, torn_bytes))

/// Verifies every record of the log and replaces the index beside it unless it is already equal.
///
/// Throws damaged_error for a damaged log, also when only the index proves that its invalid end was
/// complete once: that evidence is kept. Throws io_error or out_of_space_error when the index
/// cannot be written, and interrupted_error. The old index is then unchanged.
[[nodiscard]] index_repair repair_index(const std::filesystem::path& log, progress& shown);

/// For people.
[[nodiscard]] std::string to_text(const index_repair& report);

struct salvage_options {
    std::filesystem::path log;
    /// One log of the blocks before the first damage, or
    std::filesystem::path to;
    /// a folder with a log for every stretch between damages.
    std::filesystem::path to_folder;
};

/// What was recovered from a log, and what was lost.
struct salvage_report : made_logs {
    std::uint64_t lost_count = 0;
    std::uint64_t lost_bytes = 0;
    std::vector<lost_stretch> lost; ///< the first ones; with `to` the only one
    /// With `to`: bytes behind the first damage, not examined.
    std::uint64_t left_bytes = 0;
};
BOOST_DESCRIBE_STRUCT(salvage_report, (made_logs), (lost_count, lost_bytes, lost, left_bytes))

/// Copies the good records of a log to new logs; the log is unchanged. No new log spans damage:
/// block numbers need not be contiguous, so its readers would not notice the gap.
///
/// Throws usage_error when the target exists or nothing is good, what read_log_header and a writer
/// throw, and interrupted_error. After an exception nothing is left at the target.
[[nodiscard]] salvage_report salvage_log(const salvage_options& options, progress& shown);

/// For people.
[[nodiscard]] std::string to_text(const salvage_report& report);

} // namespace chainbase::driver
