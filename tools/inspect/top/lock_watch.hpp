#pragma once

#include <archive/latency_histogram.hpp>
#include <chainbase/lock/process_lock.hpp>

#include <chrono>
#include <cstdint>

namespace chainbase::inspect {

/// What many looks at the locks of a state came to. Who looks from outside sees no turn begin or
/// end: at each look those count that are under way, with the time that they have taken so far. So
/// long turns are seen more often than short ones, and the longest is a lower bound. Not
/// thread-safe.
class lock_watch {
public:
    /// Of the looks of one interval: how many, and in how many of them it was so.
    struct shares {
        std::uint64_t looks = 0;
        std::uint64_t writing = 0;
        std::uint64_t writer_waiting = 0; ///< for readers to leave
        std::uint64_t reading = 0;        ///< at least one reader
        std::uint64_t readers_waiting = 0;
    };

    void add(const lock_report& found) noexcept;
    /// Ends an interval, which last() tells of from then on.
    void end_interval() noexcept;

    [[nodiscard]] const shares& last() const noexcept { return last_; }
    [[nodiscard]] std::uint64_t looks() const noexcept { return looks_; }

    /// @name What was seen under way since this was made
    /// @{
    archive::latency_histogram write_turns;
    archive::latency_histogram writer_waits;
    archive::latency_histogram read_turns;
    archive::latency_histogram reader_waits;
    /// @}

private:
    std::uint64_t looks_ = 0;
    shares now_;
    shares last_;
};

} // namespace chainbase::inspect
