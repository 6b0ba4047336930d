#pragma once

#include <tools/driver/block_feed.hpp>
#include <tools/driver/chain_gauges.hpp>
#include <tools/driver/chain_state.hpp>
#include <tools/driver/log_progress.hpp>
#include <tools/text_table.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>

namespace chainbase::driver {

/// Says on stderr how far a replay is: soon after the begin, so that also a short one shows that it
/// works, then about once a second, and at its end.
class progress {
public:
    /// `from` and `to`: the bytes of the block log at which the work begins and ends.
    progress(const chain_state& state, std::uint64_t from, std::uint64_t to);

    /// To be called after some blocks, with the log's bytes up to them and what was waited for so
    /// far. Costs a look at the clock.
    void advance(const chain_state& state, std::uint64_t position, block_feed::waiting waited);

    /// The closing line: where the work stands and why it ended (`how`), over the whole time.
    void finish(const chain_state& state, const char* how);

    /// Seconds since the begin.
    [[nodiscard]] double seconds() const;

private:
    struct sample {
        double seconds;
        std::uint64_t operations;
        block_feed::waiting waited;
    };
    [[nodiscard]] std::string waits_in_words(const sample& now) const;
    [[nodiscard]] std::string time_left_in_words(std::uint64_t position) const;

    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    std::uint64_t operations_before_;
    std::uint64_t from_;
    std::uint64_t to_;
    double next_sample_ = 0;
    double next_line_ = 0.2;
    time_left estimate_;
    chain_gauges gauges_;
    std::deque<sample> rate_;
};

} // namespace chainbase::driver
