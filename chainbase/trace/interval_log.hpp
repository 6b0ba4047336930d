#pragma once

#include <chainbase/trace/growing_file.hpp>
#include <pool_allocator/trace/trace_reading.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace chainbase::trace {

/// The difference between two readings, as one JSON object without a newline:
///
///     time       when it ended, UTC, as ISO 8601
///     seconds    how long it was
///     spans      by name, those with something to tell:
///       count                    that ended, exact
///       average_us, total_us, own_us, longest_us, p50_us, p99_us
///       share                    total over the interval; above 1 with several threads, and where
///                                spans end that began before
///       in_flight, in_flight_seconds    that have not ended, and how long the oldest has been
///     counters   by name: count, rate
///     gauges     by name and label: the newest value
///
/// Of a sampled site these are called sampled (how many were measured), sampled_average_us,
/// estimated_total_us, estimated_own_us, estimated_share, sampled_longest_us, sampled_p50_us,
/// sampled_p99_us. Percentiles are rounded up to 12.5 %, and so is the longest unless it is the
/// longest ever.
[[nodiscard]] std::string interval_line(const reading& before, const reading& now,
                                        std::chrono::system_clock::time_point time);

struct interval_log_options {
    std::chrono::milliseconds interval{1000};
    /// A file that would grow beyond is renamed: LOG to LOG.1, that to LOG.2, and so on.
    std::uint64_t most_bytes = std::uint64_t{64} << 20;
    /// How many renamed ones are kept; the oldest is removed for the next.
    unsigned kept = 4;
};

/// A file to which a thread of its own adds a line every interval, and one when it is destroyed. A
/// file that exists is continued if it is such a log. A disk error, or a foreign file in the place
/// of a renamed one, ends the log with one warning; the program goes on. Tracing must be on for
/// anything to be counted.
class interval_log {
public:
    /// Throws io_error, out_of_space_error, and usage_error when `file` or one that it is renamed
    /// to is there and no such log.
    explicit interval_log(const std::filesystem::path& file, const interval_log_options& = {});
    ~interval_log();

private:
    void add_line() noexcept;
    void rotate();
    [[nodiscard]] std::filesystem::path numbered(unsigned number) const;
    void require_own_files() const;

    interval_log_options options_;
    std::filesystem::path path_;
    std::optional<growing_file> file_; ///< nothing once it was given up
    reading last_;
    std::unique_ptr<ticker> writer_;
};

} // namespace chainbase::trace
