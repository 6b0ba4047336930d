#pragma once

#include <chainbase/offline/snapshot_file/folder.hpp>
#include <tools/driver/sync/program_types.hpp>
#include <tools/driver/sync/snapshot_start.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace chainbase::driver {

/// A chunk of a snapshot; of chunks with the same content the first.
struct listed_chunk {
    const snapshot_file::type_entry* type;
    const snapshot_file::chunk_entry* entry;
};
[[nodiscard]] std::vector<listed_chunk> chunks_of(const snapshot_file::manifest& all);

/// Peers that are asked for a snapshot at once, each in a thread of its own.
///
/// choose() and fetch() are for one thread, in turn.
class snapshot_peers {
public:
    /// All outlive it. `unusable`: names of snapshots that are not chosen.
    snapshot_peers(const snapshot_options& how, const following_options& options,
                   program_types& types, std::set<sha256_digest> unusable);
    ~snapshot_peers();
    snapshot_peers(const snapshot_peers&) = delete;
    snapshot_peers& operator=(const snapshot_peers&) = delete;

    /// The snapshot that most peers offer, of those that lead to what is trusted, and of which
    /// fetch() did not fail. Throws peer_error when there is none, or not one.
    [[nodiscard]] const snapshot_file::manifest& choose();
    /// How many peers offer the chosen one.
    [[nodiscard]] std::size_t votes() const;
    /// Brings chunks that are missing into `to`, which outlives this. Whether all are there; else
    /// no peer is left for one, and choose() chooses another snapshot. Nothing uses `to` any more
    /// when all are there.
    [[nodiscard]] bool fetch(snapshot_file::folder_writer& to, const snapshot_file::manifest& all);

    [[nodiscard]] std::uint64_t fetched_bytes() const noexcept;
    /// Why peers were not asked, or no more; with their names.
    [[nodiscard]] std::vector<std::string> given_up() const;

private:
    class work;
    std::unique_ptr<work> work_;
};

} // namespace chainbase::driver
