#pragma once

#include <archive/rocksdb_store.hpp>
#include <archive/statistics.hpp>
#include <chainbase/sha256.hpp>
#include <tools/driver/block_feed.hpp>
#include <tools/driver/chain_state.hpp>

#include <boost/describe/class.hpp>
#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <cmath>
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
[[nodiscard]] nlohmann::ordered_json report_value(const archive_use& use);

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
[[nodiscard]] nlohmann::ordered_json report_value(const reported_root& of);

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
    /// "the log is cut: ...": the state is good, and not at the end of the chain.
    std::optional<std::string> log_cut;
    std::optional<std::string> broken_books; ///< what chain_model::check found, unless interrupted
    std::string state_digest;                ///< empty when interrupted: it takes long
    std::optional<verification> verified;
    std::optional<reported_root> state_root; ///< of a state that has one

    /// The share of its time in which the thread that applies had blocks to apply, or to decode
    /// because it would have had to wait; in ten-thousandths.
    [[nodiscard]] double apply_busy() const noexcept {
        const double waiting = std::chrono::duration<double>(waited.for_blocks).count();
        return seconds > waiting ? std::round((1 - waiting / seconds) * 1e4) / 1e4 : 0;
    }
    [[nodiscard]] double ops_per_second() const noexcept {
        return seconds > 0 ? std::round(static_cast<double>(replayed_operations) / seconds) : 0;
    }

    /// @name Of `memory` and `archive`, as JSON has them
    /// @{
    [[nodiscard]] nlohmann::ordered_json objects() const; ///< by type
    [[nodiscard]] nlohmann::ordered_json bytes() const; ///< types + log + buffers + header = total
    [[nodiscard]] nlohmann::ordered_json lookups() const; ///< by outcome
    /// @}
};
BOOST_DESCRIBE_STRUCT(replay_report, (),
                      (chain, blocks, operations, seconds, ops_per_second, replayed_blocks,
                       replayed_operations, apply_busy, waited, interrupted, head, irreversible,
                       objects, archived, bytes, lookups, archive, oracle, log_cut, broken_books,
                       state_root, state_digest))
/// With what verify() found, if it was called; state_digest is null when interrupted.
[[nodiscard]] nlohmann::ordered_json report_value(const replay_report& report);

/// What can be told from the state alone. Checks the chain's books and computes the digest, which
/// looks at every object, unless the work was interrupted.
[[nodiscard]] replay_report report_on(const chain_state& state, bool interrupted);

/// Looks for every object by id and by key. Throws damaged_error naming the first problems.
[[nodiscard]] verification verified(const chain_state& state);

[[nodiscard]] std::string to_text(const replay_report& report);

} // namespace chainbase::driver
