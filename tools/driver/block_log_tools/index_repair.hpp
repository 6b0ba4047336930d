#pragma once

#include <tools/driver/log_progress.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

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

/// Verifies every record of the log and replaces the index beside it unless it is the same already.
///
/// Throws damaged_error for a log that is damaged, also when only the index beside it tells that
/// its invalid end was complete once: that witness is kept. Throws io_error or out_of_space_error
/// when the index cannot be written, and interrupted_error. The old index stays then.
[[nodiscard]] index_repair repair_index(const std::filesystem::path& log, log_progress& shown);

/// The report as one JSON object, and for people.
[[nodiscard]] std::string to_json(const index_repair& report);
[[nodiscard]] std::string to_text(const index_repair& report);

} // namespace chainbase::driver
