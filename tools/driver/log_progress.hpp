#pragma once

#include <tools/block_log/log_record.hpp>
#include <tools/driver/time_left.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace chainbase::driver {

/// Says on stderr once a second how far a tool is in a block log, and ends the work when a signal
/// was noted. Work of less than a second says nothing.
class log_progress {
public:
    /// `what` is being done, such as "verifying".
    explicit log_progress(std::string what) : what_(std::move(what)) {}
    log_progress(const log_progress&) = delete;
    log_progress& operator=(const log_progress&) = delete;

    /// To be called at least after every record. Another `all` than before, or fewer bytes done,
    /// begin another part of the work. Throws interrupted_error after a signal.
    void advance(std::uint64_t done, std::uint64_t all);

    /// advance() for what takes a function. Valid as long as this object.
    [[nodiscard]] watcher as_watcher() {
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

} // namespace chainbase::driver
