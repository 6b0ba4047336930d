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

/// Where the blocks come from that sync applies, decoded and with their ids.
///
/// Used by the thread that applies.
class block_source {
public:
    /// Blocks that follow each other.
    struct run {
        block_place parent; ///< of the first
        std::vector<std::shared_ptr<const decoded_block>> blocks;
        std::vector<block_id> ids;
        std::uint64_t memory = 0; ///< bytes that they take
    };

    struct event {
        enum class kind {
            nothing,   ///< came in the time
            asks,      ///< who is about to send wants to know where the state is: resume()
            blocks,    ///< `blocks` came
            caught_up, ///< there is no more for now; `head` is the last that the sender has
            end,       ///< the same, and there never will be
            beyond,    ///< what follows `head` is beyond the block to stop at
        };
        kind what = kind::nothing;
        std::uint64_t sender = 0; ///< the connection, of which there are many over time
        std::string peer;         ///< its name, for messages
        std::string chain;        ///< with `asks`
        run blocks;
        block_place head; ///< with `asks`, the last block that the sender says it has
        /// When it did, for `blocks` and `beyond` of a peer.
        std::chrono::steady_clock::time_point came{};
    };

    block_source() = default;
    block_source(const block_source&) = delete;
    block_source& operator=(const block_source&) = delete;
    virtual ~block_source() = default;

    /// The next event, in the order in which they came, waiting for it that long. Throws when
    /// nobody is left to send anything, saying why.
    [[nodiscard]] virtual event next(std::chrono::milliseconds patience) = 0;

    /// Answers `asks`: the last block that cannot be popped, and those that can.
    virtual void resume(const std::vector<block_place>& last_blocks) = 0;

    /// Nothing more of this sender: what it sent does not do.
    virtual void refuse(std::uint64_t sender, peer_error::severity how,
                        const std::string& reason) = 0;
    /// What this sender sent took the chain further.
    virtual void praise(std::uint64_t sender) = 0;

    /// Lets others free what is not needed any more.
    virtual void give_back(std::vector<std::shared_ptr<const decoded_block>> used) = 0;

    struct counters {
        block_feed::waiting waited;
        std::uint64_t connections = 0;
        std::uint64_t failures = 0; ///< of connections, or of attempts to connect
        std::uint64_t bytes = 0;    ///< received
    };
    [[nodiscard]] virtual counters so_far() const = 0;
};

/// How peers are followed.
struct peer_options {
    /// Of a connection.
    struct connection_limits {
        std::chrono::milliseconds connect{10'000}; ///< to connect, and to say hello
        std::chrono::milliseconds silence{15'000}; ///< between two pieces of whatever
        std::chrono::milliseconds frame{60'000};   ///< from its first byte to its last
    };

    std::vector<endpoint_name> peers; ///< at least one
    std::string chain;                ///< whose blocks they must have; empty: the first's
    connection_limits limits;
    std::uint64_t waiting_bytes = std::uint64_t{128} << 20; ///< of decoded blocks
    std::size_t waiting_blocks = 100'000;
    /// Without blocks that are new and good or word of being caught up, though messages come.
    std::chrono::milliseconds progress{30'000};
    std::chrono::milliseconds pause{100}; ///< after a first failure
    std::chrono::milliseconds longest_pause{5'000};
    /// In which the same failure of a peer is said once, and others ten times.
    std::chrono::milliseconds say_again{60'000};
    /// Failures in a row after which a peer is given up; 0: never, unless it is at fault.
    unsigned attempts = 0;
    unsigned faulty_attempts = 3;         ///< the same, of faults
    std::optional<std::uint64_t> stop_at; ///< blocks with higher numbers are left out
};

/// The blocks of peers, one peer at a time: read, checked and decoded by a thread of its own.
/// Throws usage_error without a peer, and for a chain that there is not.
[[nodiscard]] std::unique_ptr<block_source> make_peer_feed(peer_options how);

} // namespace chainbase::driver
