#pragma once

#include <tools/driver/replay_report.hpp>
#include <tools/driver/sync/following.hpp>
#include <tools/driver/sync/snapshot_start.hpp>
#include <tools/interruption.hpp>

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>

namespace chainbase::driver {

struct sync_options : following_options {
    /// What a new state begins with; nothing: with the first block.
    std::optional<snapshot_options> from_snapshot;
    /// Look up every object by id and by key when it stops.
    bool verify = false;
};

struct sync_report {
    replay_report state;
    following_figures followed;
    std::optional<snapshot_figures> snapshot; ///< what the state began with in this run
};

/// Makes a new state of a snapshot, if asked to. Applies the blocks of peers to a state, from the
/// block after the state's head, each in its own session, until a peer's chain ends (`once`), the
/// block to stop at is reached, or a signal comes.
///
/// Throws usage_error when the state is of another chain than asked for or is beyond `stop_at`,
/// peer_error when no peer is left, interrupted_error when a signal comes before a peer answers,
/// what start_from_snapshot throws, and what chain_state throws when a disk refuses. The state is
/// then at the last good block, and the same call continues.
///
/// `open`: the state, if the caller has opened it; it is closed at the end.
[[nodiscard]] sync_report sync(const sync_options& options, const catch_interruption& signals,
                               std::unique_ptr<chain_state> open = {});

/// The members of `state`, plus "mode", "sync" and "snapshot".
[[nodiscard]] nlohmann::ordered_json report_value(const sync_report& report);
[[nodiscard]] std::string to_text(const sync_report& report);

} // namespace chainbase::driver
