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

/// Applies the blocks of a source and answers it, step by step, so that the caller can do other
/// work in between.
///
///     source --asks--> open(chain), once --> followed_chain <--apply, pop-- chain_follower
///            --blocks-------------------------------------------------------^
///
/// For the applying thread.
class chain_sync {
public:
    struct options {
        /// Blocks that can be popped: the state's.
        std::uint32_t lag = 20;
        /// The number of the last block to apply; nothing: all.
        std::optional<std::uint64_t> stop_at;
        /// Whether the end of a sender's chain ends the work.
        bool once = false;
        /// How long a sender may send nothing new and good.
        std::chrono::milliseconds progress{30'000};
    };
    /// Opens the chain to apply blocks to, when the first sender names it.
    using opener = std::function<followed_chain&(const std::string& chain)>;

    chain_sync(block_source& source, const options& how, opener open)
        : source_(source), how_(how), open_(std::move(open)) {}

    enum class outcome {
        nothing,      ///< came in time
        answered,     ///< told a sender where to begin
        applied,      ///< applied blocks
        end_of_chain, ///< no more blocks are expected
        stop_reached, ///< reached the block to stop at
    };
    /// Handles the next event, waiting at most that long. Throws what opening throws, peer_error
    /// when no sender is left, and what chain_state throws when a disk refuses.
    [[nodiscard]] outcome step(std::chrono::milliseconds patience);

    [[nodiscard]] chain_follower::counters so_far() const;

private:
    void answer(const block_source::event& asked);
    void take(block_source::event& next);
    [[nodiscard]] bool is_at_end(const block_source::event& next);
    [[nodiscard]] bool is_at_stop(const block_source::event& next);
    [[nodiscard]] std::optional<chain_follower::complaint>
    check_head(const block_source::event& next) const;
    void complain(const block_source::event& about, const chain_follower::complaint& what);

    block_source& source_;
    options how_;
    opener open_;
    followed_chain* chain_ = nullptr; ///< after the first `asks`
    std::optional<chain_follower> follower_;
    block_place announced_head_; ///< the last block that the sender announced
};

/// What a state follows, and how far; common to sync and live.
struct following_options {
    /// Sources of blocks: peers, or a log in place of a peer.
    std::vector<endpoint_name> peers;
    std::optional<std::filesystem::path> block_log;
    std::filesystem::path state;
    /// The chain of a new state that follows peers; empty: the first peer's.
    std::string chain;
    state_options state_settings;
    /// Blocks that can be popped: the deepest fork that can be followed.
    std::uint32_t lag = 20;
    /// The number of the last block to apply; nothing: all.
    std::optional<std::uint64_t> stop_at;
    /// Threads that decode the blocks of a log.
    unsigned threads = 1;
    /// Stop at the end of a peer's chain and make everything irreversible; else wait for more. A
    /// log always ends.
    bool once = false;
    /// Options of the peers; its lists are filled in from the members above.
    peer_options network;

    [[nodiscard]] chain_sync::options steps() const {
        return {lag, stop_at, once || block_log, network.progress};
    }
};

/// The source of the blocks; if there is a state, only peers of its chain are used: `open`, if the
/// caller has opened it. Throws usage_error when there is neither peer nor log, or the state is of
/// another chain than asked for, and what opening a log or a state throws.
[[nodiscard]] std::unique_ptr<block_source> make_block_source(const following_options& options,
                                                              const chain_state* open = nullptr);

/// "the log is cut: ..." of the followed log; nothing when it is whole, or for peers.
[[nodiscard]] std::optional<std::string> cut_of(const following_options& options);

/// Opens or makes the state and applies its root options. Throws as chain_state does, and
/// usage_error when the state was not made from the log to follow, or is beyond the block to stop
/// at.
[[nodiscard]] std::unique_ptr<chain_state> open_state(const following_options& options,
                                                      const std::string& chain);

/// Counters of received blocks.
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
