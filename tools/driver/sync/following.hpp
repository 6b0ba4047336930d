#pragma once

#include <tools/driver/sync/chain_follower.hpp>
#include <tools/driver/sync/peer_feed.hpp>

#include <boost/describe/class.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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
        /// So long a sender may send nothing that is new and good.
        std::chrono::milliseconds progress{30'000};
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

/// What a state follows, and how far: what sync and live have in common.
struct following_options {
    /// Where blocks come from: peers, or, as if one had sent them, a log.
    std::vector<endpoint_name> peers;
    std::optional<std::filesystem::path> block_log;
    std::filesystem::path state;
    /// Of a new state that follows peers; empty: the first peer's.
    std::string chain;
    promise_options promise;
    /// Blocks that can be popped again: the deepest fork that is followed.
    std::uint32_t lag = 20;
    /// The number of the last block to apply; nothing: all.
    std::optional<std::uint64_t> stop_at;
    /// Threads that decode the blocks of a log.
    unsigned threads = 1;
    /// End at the end of a peer's chain, with all of it irreversible; else wait for more. A log
    /// never gets longer, so its end is the end.
    bool once = false;
    /// Of the peers; the lists in it are filled in from the above.
    peer_options network;

    [[nodiscard]] chain_sync::options steps() const {
        return {lag, stop_at, once || block_log, network.progress};
    }
};

/// Where the blocks come from; of peers only those of the state's chain count, when there is a
/// state. Throws usage_error when there is neither peer nor log, or the state is of another chain
/// than asked for, and what opening a log or a state throws.
[[nodiscard]] std::unique_ptr<block_source> make_block_source(const following_options& options);

/// "the log is cut: ..." of the log that is followed; nothing when it is whole, or peers are.
[[nodiscard]] std::optional<std::string> cut_of(const following_options& options);

/// The state, opened or made, with its root settled. Throws as chain_state does, and usage_error
/// when the log to follow is not the one that it was made from, or when it is beyond the block to
/// stop at.
[[nodiscard]] std::unique_ptr<chain_state> open_state(const following_options& options,
                                                      const std::string& chain);

/// What came, and what became of it.
struct following_figures {
    std::uint64_t forks = 0; ///< and so on: chain_follower::counters
    std::uint64_t switches = 0;
    std::uint64_t popped_blocks = 0;
    std::uint64_t rejected_blocks = 0;
    std::uint64_t useless_blocks = 0;
    std::uint64_t connections = 0; ///< and so on: block_source::counters
    std::uint64_t failures = 0;
    std::uint64_t bytes_received = 0;
};
BOOST_DESCRIBE_STRUCT(following_figures, (),
                      (forks, switches, popped_blocks, rejected_blocks, useless_blocks, connections,
                       failures, bytes_received))
[[nodiscard]] following_figures figures_of(const chain_sync& sync, const block_source& source);
[[nodiscard]] std::string in_words(const following_figures& figures);

} // namespace chainbase::driver
