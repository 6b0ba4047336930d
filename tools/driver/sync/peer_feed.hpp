#pragma once

#include <tools/chains/chains.hpp>
#include <tools/chains/decoded_block.hpp>
#include <tools/driver/block_feed.hpp>
#include <tools/driver/chain_state.hpp>
#include <tools/driver/sync/messages.hpp>
#include <tools/endpoint_name.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::driver {

/// A source of blocks for sync, decoded and with their ids.
///
/// Used by the applying thread.
class block_source {
public:
    /// Consecutive blocks.
    struct run {
        block_place parent; ///< of the first
        std::vector<std::shared_ptr<const decoded_block>> blocks;
        std::vector<block_id> ids;
        std::uint64_t memory = 0; ///< bytes of memory that they take
    };

    struct event {
        enum class kind {
            nothing,   ///< came in time
            asks,      ///< the sender needs the state's position: call resume()
            blocks,    ///< `blocks` came
            caught_up, ///< no more for now; `head` is the sender's last
            end,       ///< the same, forever
            beyond,    ///< the successor of `head` is beyond the block to stop at
        };
        kind what = kind::nothing;
        std::uint64_t sender = 0; ///< the connection's number
        std::string peer;         ///< its name, for messages
        std::string chain;        ///< with `asks`
        run blocks;
        block_place head; ///< with `asks`, the last block that the sender announced
        /// Time of arrival, for `blocks` and `beyond` of a peer.
        std::chrono::steady_clock::time_point came{};
    };

    block_source() = default;
    block_source(const block_source&) = delete;
    block_source& operator=(const block_source&) = delete;
    virtual ~block_source() = default;

    /// Waits at most that long for the next event, in order of arrival. Throws when no sender is
    /// left, with the reason.
    [[nodiscard]] virtual event next(std::chrono::milliseconds patience) = 0;

    /// Answers `asks`: the last block that cannot be popped, and those that can.
    virtual void resume(const std::vector<block_place>& last_blocks) = 0;

    /// Ends a sender's connection because of its blocks.
    virtual void refuse(std::uint64_t sender, peer_error::severity how,
                        const std::string& reason) = 0;
    /// Tells that this sender's blocks extended the chain.
    virtual void mark_useful(std::uint64_t sender) = 0;

    /// Returns contents no longer needed, to be freed by other threads.
    virtual void give_back(std::vector<std::shared_ptr<const decoded_block>> used) = 0;

    struct counters {
        block_feed::waiting waited;
        std::uint64_t connections = 0;
        std::uint64_t failures = 0; ///< of connections, or of attempts to connect
        std::uint64_t bytes = 0;    ///< received
    };
    [[nodiscard]] virtual counters so_far() const = 0;
};

/// Options of following peers.
struct peer_options {
    /// Time limits of a connection.
    struct connection_limits {
        std::chrono::milliseconds connect{10'000}; ///< to connect, and for the hello
        std::chrono::milliseconds silence{15'000}; ///< between two pieces of data
        std::chrono::milliseconds frame{60'000};   ///< from its first byte to its last
    };

    std::vector<endpoint_name> peers; ///< at least one
    std::string chain;                ///< the required chain; empty: the first peer's
    connection_limits limits;
    std::uint64_t waiting_bytes = std::uint64_t{128} << 20; ///< of decoded blocks
    std::size_t waiting_blocks = 100'000;
    /// Time limit without new and good blocks or a caught_up, even if messages come.
    std::chrono::milliseconds progress{30'000};
    std::chrono::milliseconds pause{100}; ///< after the first failure
    std::chrono::milliseconds longest_pause{5'000};
    /// Period in which the same failure of a peer is logged once, and others ten times.
    std::chrono::milliseconds say_again{60'000};
    /// Consecutive failures after which a peer is given up; 0: never, except for faults.
    unsigned attempts = 0;
    unsigned faulty_attempts = 3;         ///< the same for faults
    std::optional<std::uint64_t> stop_at; ///< blocks with higher numbers are left out
};

/// The blocks of peers, one peer at a time; a separate thread reads, checks and decodes them.
/// Throws usage_error without a peer, and for an unknown chain.
[[nodiscard]] std::unique_ptr<block_source> make_peer_feed(peer_options how);

} // namespace chainbase::driver
