#pragma once

#include <tools/driver/log_progress.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace chainbase::driver {

/// What a block log is, without its blocks.
struct log_info {
    /// A block's number and Unix seconds.
    struct place {
        std::uint64_t number = 0;
        std::int64_t time = 0;
    };
    /// What only the blocks themselves tell.
    struct contents {
        std::uint64_t transactions = 0;
        std::uint64_t operations = 0;
    };

    std::string chain;
    std::uint32_t format = 0;
    std::uint64_t records = 0;
    std::uint64_t blocks = 0;
    std::optional<place> first; ///< nothing when the log is empty
    std::optional<place> last;
    std::uint64_t bytes = 0; ///< of the file, without a torn end
    std::uint64_t unpacked_bytes = 0;
    std::uint64_t torn_bytes = 0;
    std::string index; ///< "fits the log", or why it does not
    std::optional<contents> counted;

    /// How many bytes of blocks a byte of the file holds.
    [[nodiscard]] double ratio() const noexcept {
        return static_cast<double>(unpacked_bytes) / static_cast<double>(bytes);
    }
};

/// Looks at the log; with `count` at every block. Throws what block_log_reader throws, also for
/// damage that it comes upon, and interrupted_error.
[[nodiscard]] log_info info_of(const std::filesystem::path& log, bool count, log_progress& shown);

/// The report as one JSON object, and for people.
[[nodiscard]] std::string to_json(const log_info& info);
[[nodiscard]] std::string to_text(const log_info& info);

} // namespace chainbase::driver
