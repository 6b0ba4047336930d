#pragma once

#include <tools/chains/chains.hpp>
#include <tools/driver/sync/block_source.hpp>
#include <tools/driver/sync/peer_connection.hpp>

#include <boost/asio/io_context.hpp>

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

namespace chainbase::driver {

/// The blocks of peers, one peer at a time: read, checked and decoded by a thread of its own.
///
///     peer -> socket -> network thread (checksum, decode, id) -> queue, bounded -> next()
///
/// Invariants: (1) runs of one connection come in their order, and none of a connection that was
/// refused; (2) the queue holds at most `waiting_bytes` and `waiting_blocks` and the one run more
/// that made it full; a full queue stops the reading, and so, in the end, the peer; (3) before a
/// connection is asked for blocks, all blocks of the connections before it were taken from the
/// queue, so that they are not asked for again; (4) when a peer fails, the next one's turn comes,
/// after a pause that doubles with each failure in a row.
class peer_feed final : public block_source {
public:
    struct options {
        std::vector<endpoint_name> peers; ///< at least one
        std::string chain;                ///< whose blocks they must have; empty: the first's
        peer_connection::limits limits;
        std::uint64_t waiting_bytes = std::uint64_t{128} << 20; ///< of decoded blocks
        std::size_t waiting_blocks = 100'000;
        /// Without blocks or word of being caught up, though other messages come.
        std::chrono::milliseconds progress{30'000};
        std::chrono::milliseconds pause{100}; ///< after a first failure
        std::chrono::milliseconds longest_pause{5'000};
        std::chrono::milliseconds say_again{60'000}; ///< the same failure of the same peer
        /// Failures in a row after which a peer is given up; 0: never, unless it is at fault.
        unsigned attempts = 0;
        unsigned faulty_attempts = 3;         ///< the same, of faults
        std::optional<std::uint64_t> stop_at; ///< blocks with higher numbers are left out
    };

    explicit peer_feed(options how);
    ~peer_feed() override;

    [[nodiscard]] event next(std::chrono::milliseconds patience) override;
    void resume(const std::vector<block_place>& last_blocks) override;
    void refuse(std::uint64_t sender, peer_error::severity how, const std::string& reason) override;
    void praise(std::uint64_t sender) override;
    void give_back(std::vector<std::shared_ptr<const decoded_block>> used) override;
    [[nodiscard]] counters so_far() const override;

private:
    struct peer {
        endpoint_name name;
        unsigned failures = 0; ///< in a row
        unsigned faults = 0;
        bool is_given_up = false;
        std::string last_failure;
        std::string said;         ///< of it last
        std::uint64_t unsaid = 0; ///< times that the same failure came since
        std::chrono::steady_clock::time_point say_again{};
    };
    struct refusal {
        std::uint64_t sender;
        peer_error::severity how;
        std::string reason;
    };
    /// Whose connection it was.
    struct connection_of {
        std::uint64_t sender;
        peer* whose;
        bool is_refused = false;
    };
    using lock = std::unique_lock<std::mutex>;

    void work();
    void work_through_peers();
    void talk_to(peer& one);
    void note_late_refusals();
    void begin_connection(peer& one);
    void shake_hands(peer_connection& with);
    void take_chain(const peer_connection& from, const std::string& chain);
    void take_blocks(peer_connection& from, byte_view payload);
    void take_caught_up(peer_connection& from, byte_view payload);
    [[noreturn]] void take_refusal(peer_connection& from, byte_view payload);
    [[nodiscard]] run decode(byte_view payload, std::optional<block_place>& before_beyond) const;
    void push(event next, const peer_connection& from);
    void note_failure(peer& one, const peer_error& problem);
    void judge(peer& one, peer_error::severity how) const;
    void say(peer& one) const;
    void pause_after(const peer& one);
    void require_not_refused() const;
    [[nodiscard]] bool must_end() const;
    void free_used();

    options how_;
    std::vector<peer> peers_;        // the thread's, and of who reads them after its end
    std::string chain_;              // the thread's; empty: not known yet
    block_decoder decode_ = nullptr; // likewise
    bool is_caught_up_ = false;      // likewise

    boost::asio::io_context context_{1};
    peer_connection* connection_ = nullptr; // used by handlers in the thread only
    std::uint64_t connected_ = 0;           // its number, likewise
    std::atomic<std::uint64_t> received_ = 0;

    mutable std::mutex mutex_;
    std::condition_variable came_; ///< for next()
    std::condition_variable room_; ///< for the thread
    std::deque<event> queue_;
    std::uint64_t queued_bytes_ = 0;
    std::size_t queued_blocks_ = 0;
    std::uint64_t sender_ = 0; ///< the connection that there is, or was last
    std::optional<std::vector<block_place>> answer_;
    std::optional<refusal> refusal_;
    std::vector<refusal> late_refusals_;
    std::deque<connection_of> last_connections_; ///< the newest last
    bool is_noted_ = false;                      ///< that the connection failed
    bool is_praised_ = false;
    std::vector<std::shared_ptr<const decoded_block>> used_;
    counters counters_;
    std::exception_ptr over_; ///< nobody is left
    bool stopping_ = false;
    std::thread thread_;
};

} // namespace chainbase::driver
