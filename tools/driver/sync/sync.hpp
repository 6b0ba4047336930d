#pragma once

#include <tools/driver/replay_report.hpp>
#include <tools/driver/sync/chain_follower.hpp>
#include <tools/driver/sync/peer_feed.hpp>
#include <tools/interruption.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace chainbase::driver {

struct sync_options {
    /// Where blocks come from: peers, or, to see what sync costs without a network, a log.
    std::vector<endpoint_name> peers;
    std::optional<std::filesystem::path> block_log;
    std::filesystem::path state;
    /// Blocks that can be popped again: the deepest fork that is followed.
    std::uint32_t lag = 20;
    /// The number of the last block to apply; nothing: all.
    std::optional<std::uint64_t> stop_at;
    /// Threads that decode the blocks of a log.
    unsigned threads = 1;
    /// End at the end of a peer's chain, with all of it irreversible; else wait for more.
    bool once = false;
    /// Look for every object by id and by key when it stops.
    bool verify = false;
    /// Of the peers; the lists in it are filled in by sync().
    peer_feed::options network;
};

struct sync_report {
    replay_report state;
    chain_follower::counters chain;
    block_source::counters source;
};

/// Applies the blocks of peers to a state, from the block after the state's head on, each in a
/// session of its own, until a peer's chain ends (`once`), the block to stop at, or a signal.
///
/// Throws usage_error when the state is of another chain than the first peer's or is beyond
/// `stop_at`, peer_error when no peer is left, and what chain_state throws when a disk refuses. The
/// state is then at the last good block, and the same call goes on.
[[nodiscard]] sync_report sync(const sync_options& options, const catch_interruption& signals);

/// The report as one JSON object, and for people.
[[nodiscard]] std::string to_json(const sync_report& report);
[[nodiscard]] std::string to_text(const sync_report& report);

} // namespace chainbase::driver
