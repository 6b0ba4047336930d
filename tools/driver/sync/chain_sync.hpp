#pragma once

#include <tools/driver/sync/chain_follower.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace chainbase::driver {

/// Applies what a source of blocks sends, and answers the source: step by step, so that its caller
/// can do something else in between.
///
///     source --asks--> open(chain), once --> followed_chain <--apply, pop-- chain_follower
///            --blocks-------------------------------------------------------^
///
/// For the thread that applies.
class chain_sync {
public:
    struct options {
        /// Blocks that can be popped: the state's.
        std::uint32_t lag = 20;
        /// The number of the last block to apply; nothing: all.
        std::optional<std::uint64_t> stop_at;
        /// Whether the end of a sender's chain is the end.
        bool once = false;
    };
    /// The chain to apply blocks to, made when the first sender says which one it has.
    using opener = std::function<followed_chain&(const std::string& chain)>;

    chain_sync(block_source& source, const options& how, opener open)
        : source_(source), how_(how), open_(std::move(open)) {}

    enum class outcome {
        nothing,      ///< came in the time
        answered,     ///< a sender knows now where to begin
        applied,      ///< what came
        end_of_chain, ///< and nothing is to be waited for
        stop_reached, ///< the block to stop at
    };
    /// Deals with what comes next, waiting for it that long. Throws what opening throws, peer_error
    /// when nobody is left to send anything, and what chain_state throws when a disk refuses.
    [[nodiscard]] outcome step(std::chrono::milliseconds patience);

    [[nodiscard]] chain_follower::counters so_far() const;

private:
    void answer(const block_source::event& asked);
    void take(block_source::event& next);
    [[nodiscard]] bool is_at_end(const block_source::event& next);
    [[nodiscard]] bool is_at_stop(const block_source::event& next);
    [[nodiscard]] std::optional<chain_follower::complaint>
    judge_head(const block_source::event& next) const;
    void complain(const block_source::event& about, const chain_follower::complaint& what);

    block_source& source_;
    options how_;
    opener open_;
    followed_chain* chain_ = nullptr; ///< after the first `asks`
    std::optional<chain_follower> follower_;
    block_place promised_; ///< the last block that the sender said it has
};

} // namespace chainbase::driver
