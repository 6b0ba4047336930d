#pragma once

#include <archive/rocksdb/store.hpp>
#include <archive/statistics.hpp>
#include <chainbase/state_root/sha256.hpp>
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

/// The archive's statistics of this run.
struct archive_use {
    std::string store; ///< its kind
    archive::statistics_summary figures;
    std::optional<archive::rocksdb_statistics> engine; ///< of the store `rocksdb`
};
[[nodiscard]] nlohmann::ordered_json report_value(const archive_use& use);

/// The root of a state, and the result of comparing it.
struct reported_root {
    /// A block whose root differs.
    struct difference {
        std::uint64_t number;
        sha256_digest expected;
        /// The block's writes are equal: the fault is older. Nothing: unknown.
        std::optional<bool> has_same_writes;
    };
    sha256_digest root;
    std::uint64_t objects = 0;
    std::set<std::string> types;
    double seconds = 0;         ///< of the run that went into the roots of blocks
    bool is_recomputed = false; ///< rebuilt from all objects, with the same result
    std::uint64_t compared = 0; ///< blocks
    std::string with;           ///< the source of the expected roots
    std::optional<difference> differs;
};
[[nodiscard]] nlohmann::ordered_json report_value(const reported_root& of);

/// The state's content after a replay, and what the replay did.
struct replay_report {
    std::string chain;
    std::uint64_t blocks = 0;              ///< since the chain began
    std::uint64_t operations = 0;          ///< since the chain began
    std::uint64_t replayed_blocks = 0;     ///< in this run
    std::uint64_t replayed_operations = 0; ///< in this run
    double seconds = 0;                    ///< for the replayed blocks
    block_feed::waiting waited;            ///< in this run
    std::uint64_t head = 0;
    std::uint64_t irreversible = 0;
    bool interrupted = false;
    chain_model::named_counts archived;
    chain_model::named_counts oracle;
    archive_use archive;
    segment_statistics memory;
    /// "the log is cut: ...": the state is good, but not at the chain's end.
    std::optional<std::string> log_cut;
    std::optional<std::string> broken_books; ///< what chain_model::check found, unless interrupted
    std::string state_digest;                ///< empty when interrupted: it takes long
    std::optional<verification> verified;
    std::optional<reported_root> state_root; ///< of a state that has one

    /// The share of its time in which the applying thread had blocks to apply, or decoded some
    /// instead of waiting; in ten-thousandths.
    [[nodiscard]] double apply_busy() const noexcept {
        const double waiting = std::chrono::duration<double>(waited.for_blocks).count();
        return seconds > waiting ? std::round((1 - waiting / seconds) * 1e4) / 1e4 : 0;
    }
    [[nodiscard]] double ops_per_second() const noexcept {
        return seconds > 0 ? std::round(static_cast<double>(replayed_operations) / seconds) : 0;
    }

    /// @name Parts of `memory` and `archive` in JSON
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
/// With the result of verify(), if called; state_digest is null when interrupted.
[[nodiscard]] nlohmann::ordered_json report_value(const replay_report& report);

/// The report of a state alone. Checks the chain's identities and computes the digest, which reads
/// every object, unless the work was interrupted.
[[nodiscard]] replay_report report_on(const chain_state& state, bool interrupted);

/// Looks up every object by id and by key. Throws damaged_error naming the first problems.
[[nodiscard]] verification verified(const chain_state& state);

[[nodiscard]] std::string to_text(const replay_report& report);

} // namespace chainbase::driver
