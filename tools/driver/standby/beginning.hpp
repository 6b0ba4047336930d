#pragma once

#include <chainbase/feed/follower.hpp>
#include <tools/driver/chain_state.hpp>
#include <tools/driver/sync/following.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace chainbase::driver {

/// Where a copy begins.
struct begin_of_copy {
    std::uint64_t block = 0; ///< its number
    std::string id;          ///< to_string(block_id)
    revision_number revision = 0;
};

/// The place in the feed behind that block, read from where `feed` is, which is before it. Waits
/// until the block can no longer be undone, while something comes within ten seconds each time, or
/// until a signal. Returns nothing when the block was undone, or the feed does not tell of it.
[[nodiscard]] std::optional<feed::feed_position> place_behind(const begin_of_copy& begin,
                                                              feed::follower& feed);

/// Writes a snapshot of `state` to `folder`, if there is none, with which standbys of other
/// machines begin; the feed keeps what follows it, for served_feed::cursor_of_snapshot. Throws
/// busy_error when no node writes the feed, interrupted_error after a signal, and what taking and
/// writing a snapshot throws.
void offer_snapshot(const std::filesystem::path& state, const std::filesystem::path& folder);

/// The folder in which copy_state() writes the snapshot that a state is made of.
[[nodiscard]] std::filesystem::path snapshot_beside(const std::filesystem::path& state);

/// Makes the state that `options` name of a snapshot of `primary`, whose feed is followed from
/// before that on, and returns its place there. The snapshot is in snapshot_beside() of it, which
/// is removed afterwards; chunks that are there already are not written again. Throws as
/// offer_snapshot() does, usage_error when something else is there, and what loading throws; then
/// there is no state.
[[nodiscard]] feed::feed_position copy_state(const std::filesystem::path& primary,
                                             feed::follower& feed,
                                             const following_options& options);

} // namespace chainbase::driver
