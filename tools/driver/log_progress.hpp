#pragma once

#include <tools/block_log/block_log_reader.hpp>
#include <tools/block_log/log_record.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace chainbase::driver {

/// Estimates the remaining time of work measured in bytes: a range from the fastest to the slowest
/// of the rates since the begin, over the last ten seconds and over the last one; widened by up to
/// as much again, in proportion to the work left.
///
/// Without progress for ten seconds there is no upper end.
///
/// Bytes of a block log predict time better than blocks: early blocks of a chain are small. A
/// growing state makes work slower, seldom faster, so only the upper end is widened.
class time_left {
public:
    /// Seconds, at least and at most.
    using range_of_seconds = std::pair<double, double>;

    /// Records that `done` bytes were done `seconds` after the begin. Both never fall.
    void note(double seconds, std::uint64_t done);

    /// Seconds for `left` more bytes, at least and at most (infinite without progress), never
    /// negative. Nothing before half a second of progress.
    [[nodiscard]] std::optional<range_of_seconds> range(std::uint64_t left) const;

private:
    struct sample {
        double seconds;
        std::uint64_t done;
    };
    [[nodiscard]] double rate_over(double seconds) const;

    static constexpr double enough = 0.5;
    static constexpr double window = 10;

    std::optional<sample> first_;
    std::deque<sample> recent_;
};

/// "3 to 5 min left".
[[nodiscard]] std::string in_words(const time_left::range_of_seconds& left);

/// Logs a tool's progress through a block log once a second, and ends the work after a signal. Work
/// of less than a second logs nothing.
class log_progress {
public:
    /// `what` names the work, such as "verifying".
    explicit log_progress(std::string what) : what_(std::move(what)) {}
    log_progress(const log_progress&) = delete;
    log_progress& operator=(const log_progress&) = delete;

    /// Call it at least after every record. A changed `all`, or fewer bytes done, starts another
    /// part of the work. Throws interrupted_error after a signal.
    void advance(std::uint64_t done, std::uint64_t all);

    /// advance() as a function object. Valid as long as this object.
    [[nodiscard]] progress_callback as_callback() {
        return [this](std::uint64_t done, std::uint64_t all) { advance(done, all); };
    }

private:
    using clock = std::chrono::steady_clock;

    void begin_part(std::uint64_t done, std::uint64_t all);
    void say(std::uint64_t done, std::uint64_t all) const;

    std::string what_;
    std::uint64_t done_ = 0;
    std::uint64_t all_ = 0;
    clock::time_point part_begin_;
    clock::time_point next_line_ = clock::now() + std::chrono::seconds(1);
    time_left estimate_;
};

/// Opens a log to take blocks from. If its index does not fit, reads the whole log, with progress
/// on stderr, and saves the index; a caught signal (catch_interruption) ends this. Throws what
/// block_log_reader throws, and interrupted_error.
[[nodiscard]] inline block_log_reader open_log(const std::filesystem::path& path) {
    log_progress shown("indexing " + path.string());
    return block_log_reader(path, {}, {.watch = shown.as_callback()});
}

} // namespace chainbase::driver
