#pragma once

#include <tools/driver/chain_state.hpp>
#include <tools/driver/live/latencies.hpp>
#include <tools/driver/live/live_node.hpp>
#include <tools/driver/live/readers.hpp>
#include <tools/driver/sync/following.hpp>
#include <tools/interruption.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace chainbase::driver::live {

/// What a node did, and where its state stands.
struct live_report {
    std::string chain;
    std::uint64_t head = 0;
    std::uint64_t irreversible = 0;
    std::uint64_t operations = 0; ///< in blocks of this run
    double seconds = 0;
    live_figures node;
    following_figures followed;
    std::uint64_t refused = 0; ///< transactions that there was no room for
    latencies block_times;     ///< dropping what is pending, and applying
    latencies reader_times;
    std::uint64_t segment_bytes = 0;
    bool interrupted = false;
    std::string state_digest;
};

/// Latencies as an object: count, and p50, p90, p99, p99.9 and max in milliseconds.
[[nodiscard]] nlohmann::ordered_json to_object(const latencies& all);
/// Acquisitions in all and per second, shares of the time waited and held, and the longest.
[[nodiscard]] nlohmann::ordered_json to_object(const lock_figures& lock, double seconds);

/// "p50 0.1 ms, p90 0.2 ms, ...".
[[nodiscard]] std::string in_words(const latencies& all);
[[nodiscard]] std::string in_words(const lock_figures& lock, double seconds);

/// The report as one JSON object, and for people.
[[nodiscard]] std::string to_json(const live_report& report);
[[nodiscard]] std::string to_text(const live_report& report);

struct live_options : following_options {
    readers::options reading;
    batching batch;
    std::size_t pending = 1000;           ///< transactions of coming blocks that arrive early
    std::optional<std::uint64_t> shuffle; ///< they arrive in an order of this seed
    nanoseconds interval{0};              ///< between blocks; 0: as fast as they come
    nanoseconds budget{std::chrono::milliseconds(200)}; ///< for applying what is pending again
};

/// Runs a node: blocks of peers or of a log come one by one, each in a session of its own that can
/// be popped, some of their transactions before them, and readers ask at the same time. Follows the
/// longest branch as sync does; the transactions of a block that is popped are pending again. Goes
/// on from where the state stands.
///
/// Stops after the block under way when a signal was noted. At the end of a log (of a peer's chain,
/// with `once`) everything is made irreversible, as sync and replay do, so that all come to the
/// same state. Throws as sync.
[[nodiscard]] live_report live(const live_options& options, const catch_interruption& signals);

} // namespace chainbase::driver::live
