#pragma once

#include <chainbase/feed/follower.hpp>
#include <tools/driver/chain_state.hpp>
#include <tools/driver/sync/following.hpp>

#include <filesystem>
#include <functional>

namespace chainbase::driver {

/// Makes the state that `options` name of a snapshot of `primary`, whose feed is followed from
/// before that on: in `options.state`.snapshot, which is removed again, unless the call is killed:
/// then it goes on there. Throws what taking, writing and loading a snapshot throws.
void copy_state(const std::filesystem::path& primary, feed::follower& feed,
                const following_options& options);

/// Writes a snapshot of `state` to `folder`, if there is none, with which standbys of other
/// machines begin; the feed keeps what follows it, for served_feed::cursor_of_snapshot. Throws
/// busy_error when no node writes the feed, and what taking and writing a snapshot throws.
void offer_snapshot(const std::filesystem::path& state, const std::filesystem::path& folder);

/// The place in the feed behind the last block of a copy: in `feed`, which is before it. Waits
/// some seconds for each entry, as long as `goes_on`. Throws damaged_error when the feed does not
/// tell of that block.
[[nodiscard]] feed::feed_position place_behind(chain_state& copy, feed::follower& feed,
                                               const std::function<bool()>& goes_on);

} // namespace chainbase::driver
