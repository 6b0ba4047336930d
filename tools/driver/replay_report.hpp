#pragma once

#include <archive/rocksdb_store.hpp>
#include <archive/statistics.hpp>
#include <chainbase/sha256.hpp>
#include <tools/driver/block_feed.hpp>
#include <tools/driver/chain_state.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace chainbase::driver {

/// What became of the archive in this run.
struct archive_use {
    std::string store; ///< its kind
    archive::statistics_summary figures;
    std::optional<archive::rocksdb_statistics> engine; ///< of the store `rocksdb`
};

/// The root of a state, and what it was compared with.
struct reported_root {
    /// Of a block, where it is another one.
    struct difference {
        std::uint64_t number;
        sha256_digest expected;
        /// The block wrote what it was to write: the fault is older. Nothing: nobody knows.
        std::optional<bool> has_same_writes;
    };
    sha256_digest root;
    std::uint64_t objects = 0;
    std::set<std::string> types;
    bool is_recomputed = false; ///< from all objects, which came to the same
    std::uint64_t compared = 0; ///< blocks
    std::string with;           ///< where the roots they were compared with are from
    std::optional<difference> differs;
};

/// What a state holds after a replay, and what the replay did.
struct replay_report {
    std::string chain;
    std::uint64_t blocks = 0;              ///< since the chain began
    std::uint64_t operations = 0;          ///< since the chain began
    std::uint64_t replayed_blocks = 0;     ///< in this run
    std::uint64_t replayed_operations = 0; ///< in this run
    double seconds = 0;                    ///< that the replayed blocks took
    block_feed::waiting waited;            ///< in this run
    std::uint64_t head = 0;
    std::uint64_t irreversible = 0;
    bool interrupted = false;
    chain_model::named_counts archived;
    chain_model::named_counts oracle;
    archive_use archive;
    segment_statistics memory;
    std::optional<std::string> broken_books; ///< what chain_model::check found, unless interrupted
    std::string state_digest; ///< empty when interrupted: who stops it does not wait for that
    std::optional<verification> verified;
    std::optional<reported_root> root; ///< of a state that has one

    /// The share of its time in which the thread that applies had blocks to apply, or to decode
    /// because it would have had to wait.
    [[nodiscard]] double apply_busy() const noexcept {
        const double waiting = std::chrono::duration<double>(waited.for_blocks).count();
        return seconds > waiting ? 1 - waiting / seconds : 0;
    }
    [[nodiscard]] double operations_per_second() const noexcept {
        return seconds > 0 ? static_cast<double>(replayed_operations) / seconds : 0;
    }
};

/// What can be told from the state alone. Checks the chain's books and computes the digest, which
/// looks at every object, unless the work was interrupted.
[[nodiscard]] replay_report report_on(const chain_state& state, bool interrupted);

/// Looks for every object by id and by key. Throws damaged_error naming the first problems.
[[nodiscard]] verification verified(const chain_state& state);

/// The report as one JSON object, and for people.
[[nodiscard]] std::string to_json(const replay_report& report);
[[nodiscard]] std::string to_text(const replay_report& report);

} // namespace chainbase::driver
