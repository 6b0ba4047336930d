#pragma once

#include <tools/driver/live/clock.hpp>
#include <tools/driver/live/latencies.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace chainbase::driver::live {

/// Rates, in transactions a second: the first, and how each follows from the one before.
struct load_steps {
    double start = 100'000;
    double more = 0;    ///< is added;
    double factor = 1;  ///< after what there was is multiplied
    double last = 1e12; ///< no higher one is tried

    /// The rate after one that was sustained; nothing when that was the last, or would not rise.
    [[nodiscard]] std::optional<double> after(double rate) const noexcept;
};

/// What became of a rate.
struct load_step {
    double rate = 0;
    double seconds = 0; ///< in which transactions were sent
    std::uint64_t offered = 0;
    std::uint64_t completed = 0; ///< are in a block that is applied
    std::uint64_t in_time = 0;
    std::uint64_t rejected = 0;
    latencies transactions; ///< of the completed, from when one was due to the end of its block
    latencies blocks;       ///< from when one was due to its end
    latencies readers;      ///< of questions, from when one was due
    std::string failed;     ///< why the rate is not sustained; empty: it is
    double lock_held = 0;   ///< share of the time
    double lock_waited = 0;
    double acquisitions = 0; ///< a second
    std::uint64_t state_bytes = 0;

    [[nodiscard]] double completed_per_second() const noexcept {
        return seconds > 0 ? static_cast<double>(completed) / seconds : 0;
    }
};

/// When a rate counts as sustained: no block takes longer than the interval between blocks, from
/// when it was due, and at least half of what was offered is in a block within two intervals.
struct load_criterion {
    nanoseconds interval;

    [[nodiscard]] nanoseconds in_time() const noexcept { return 2 * interval; }
    /// Why the rate is not sustained, in words; empty when it is.
    [[nodiscard]] std::string judge(const load_step& step) const;
};

} // namespace chainbase::driver::live
