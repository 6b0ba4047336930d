#pragma once

#include <chainbase/offline/snapshot_file/trust.hpp>
#include <tools/driver/sync/following.hpp>
#include <tools/interruption.hpp>

#include <boost/describe/class.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::driver {

/// A snapshot that a new state begins with.
struct snapshot_options {
    std::filesystem::path folder; ///< where it is collected, and stays
    snapshot_file::trusted_root trusted;
    /// How long a chunk may be owed before another peer is asked for it, too.
    std::chrono::milliseconds patience{5'000};
    /// How long peers are waited for that have not offered anything, after the first offer.
    std::chrono::milliseconds for_offers{20'000};
};

/// What a state began with.
struct snapshot_figures {
    std::string name;
    std::uint64_t block = 0;
    std::uint64_t objects = 0; ///< in memory, and rows of the archive
    std::uint64_t chunks = 0;
    std::uint64_t fetched_chunks = 0;
    std::uint64_t fetched_bytes = 0;        ///< compressed
    std::uint64_t kept_chunks = 0;          ///< of an earlier call
    std::vector<std::string> not_proven;    ///< types
    std::vector<std::string> dropped_peers; ///< why, each with its name
    double seconds = 0;
};
BOOST_DESCRIBE_STRUCT(snapshot_figures, (),
                      (name, block, objects, chunks, fetched_chunks, fetched_bytes, kept_chunks,
                       not_proven, dropped_peers, seconds))

/// Makes the state that `options` name, if there is none, of a snapshot that its peers offer;
/// nothing when it is there already.
///
///     manifests of all peers --trusted root, votes--> one --chunks of all peers--> folder -->
///     state
///
/// Invariants: (1) nothing is made before a manifest that leads to what is trusted was chosen: the
/// one that most peers offer, of the types that this program declares; (2) a chunk is verified
/// before it is written; a peer that sends a wrong one is dropped by name; (3) a peer takes at most
/// the memory of two chunks, as long as the manifest says they may be, or of a manifest; (4) a slow
/// or silent peer holds up nobody (fetch_plan); (5) after a kill the same call goes on: chunks that
/// are there are not fetched again, and a whole snapshot in the folder is only loaded; (6) what is
/// damaged in a whole snapshot is fetched again; a snapshot that no peer can complete, or that
/// cannot be loaded, gives way to the next one that leads to what is trusted.
///
/// Throws usage_error when nothing is trusted, or the folders hold something else; damaged_error
/// when a whole snapshot in the folder is not the trusted one; peer_error with every peer's reason;
/// interrupted_error after a signal; and what writing and loading a snapshot throw.
[[nodiscard]] std::optional<snapshot_figures> start_from_snapshot(const snapshot_options& how,
                                                                  const following_options& options);

} // namespace chainbase::driver
