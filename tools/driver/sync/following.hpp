#pragma once

#include <tools/driver/sync/chain_sync.hpp>
#include <tools/driver/sync/peer_feed.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::driver {

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
    peer_feed::options network;

    [[nodiscard]] chain_sync::options steps() const { return {lag, stop_at, once || block_log}; }
};

/// Where the blocks come from; of peers only those of the state's chain count, when there is a
/// state. Throws usage_error when there is neither peer nor log, or the state is of another chain
/// than asked for, and what opening a log or a state throws.
[[nodiscard]] std::unique_ptr<block_source> make_block_source(const following_options& options);

/// The state, opened or made, with its root settled. Throws as chain_state does, and usage_error
/// when the log to follow is not the one that it was made from, or when it is beyond the block to
/// stop at.
[[nodiscard]] std::unique_ptr<chain_state> open_state(const following_options& options,
                                                      const std::string& chain);

/// What came, and what became of it.
struct following_figures {
    chain_follower::counters chain;
    block_source::counters source;
};
[[nodiscard]] nlohmann::ordered_json to_object(const following_figures& figures);
[[nodiscard]] std::string in_words(const following_figures& figures);

} // namespace chainbase::driver
