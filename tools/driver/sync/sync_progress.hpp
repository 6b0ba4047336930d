#pragma once

#include <tools/driver/block_feed.hpp>
#include <tools/driver/chain_state.hpp>

#include <chrono>
#include <cstdint>

namespace chainbase::driver {

/// Says on stderr how far a sync is: soon after the begin, then about once a second while blocks
/// come, and at its end. How long it will take nobody knows: a peer's chain grows.
class sync_progress {
public:
    /// `waited` so far for what is not blocks: a peer's first answer.
    sync_progress(const chain_state& state, block_feed::waiting waited);

    /// To be called after some blocks, with what was waited for so far.
    void advance(block_feed::waiting waited);
    /// The closing line: where the work stands and why it ended.
    void finish(const char* how) const;
    /// From the begin to the last block that came.
    [[nodiscard]] double seconds() const;

private:
    using clock = std::chrono::steady_clock;

    const chain_state& state_;
    clock::time_point begin_ = clock::now();
    clock::time_point last_block_ = begin_;
    clock::time_point last_line_ = begin_;
    clock::time_point next_line_ = begin_ + std::chrono::milliseconds(200);
    std::uint64_t operations_before_;
    std::uint64_t operations_then_;
    block_id head_then_;
    block_id seen_;
    block_feed::waiting waited_then_;
};

} // namespace chainbase::driver
