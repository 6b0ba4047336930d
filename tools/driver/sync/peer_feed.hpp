#pragma once

#include <tools/chains/chains.hpp>
#include <tools/chains/decoded_block.hpp>
#include <tools/driver/block_feed.hpp>
#include <tools/driver/chain_state.hpp>
#include <tools/driver/sync/messages.hpp>
#include <tools/driver/sync/serve.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
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

/// A connection to a peer that sends blocks: whole frames, each with a time limit.
///
/// Memory grows with what has arrived, not with what a length claims. Everything throws peer_error,
/// whose message names the peer and the byte of what it sent; after that nothing may be called. For
/// one thread, which runs the io_context; cancel() may be called by a handler in it.
class peer_connection {
public:
    struct limits {
        std::chrono::milliseconds connect{10'000}; ///< to connect, and to say hello
        std::chrono::milliseconds silence{15'000}; ///< between two pieces of whatever
        std::chrono::milliseconds frame{60'000};   ///< from its first byte to its last
    };

    peer_connection(boost::asio::io_context& context, endpoint_name to, const limits& bounds,
                    std::atomic<std::uint64_t>& received);

    void connect();
    void send(const bytes& frame);

    struct frame {
        wire::message type{};
        byte_view payload;
    };
    /// The next frame, its checksum verified; valid until the next call.
    [[nodiscard]] frame next();

    /// Ends what is waiting, with an error.
    void cancel();

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// Throws: what is wrong with what it sent last.
    [[noreturn]] void fail(peer_error::severity how, const std::string& what) const;
    /// Returns what work() does; says of a peer_error that it throws which peer it was, and where.
    template <typename Work>
    auto named(Work work) const {
        try {
            return work();
        } catch (const peer_error& problem) {
            fail(problem.how(), problem.what());
        }
    }

private:
    using clock = std::chrono::steady_clock;

    template <typename Begin>
    void run(Begin begin, clock::time_point until, const char* what);
    void have(std::size_t size, clock::time_point until);
    void make_room(std::size_t size);

    struct name_lookup;
    [[nodiscard]] boost::asio::ip::tcp::resolver::results_type look_up(clock::time_point until);

    boost::asio::io_context& context_;
    std::shared_ptr<name_lookup> lookup_; ///< while there is one
    boost::asio::ip::tcp::socket socket_;
    endpoint_name to_;
    std::string name_;
    limits bounds_;
    std::atomic<std::uint64_t>& received_;
    bytes buffer_;
    std::size_t begin_ = 0; ///< of what is not taken yet
    std::size_t end_ = 0;
    std::size_t frame_ = 0;   ///< bytes of the frame that next() returned last
    std::uint64_t taken_ = 0; ///< bytes up to the frame that is looked at
};

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

/// The blocks of a log as if a peer sent them: what sync costs without a network.
class log_source final : public block_source {
public:
    /// `threads`: as block_feed's.
    log_source(const block_log_reader& log, unsigned threads,
               std::optional<std::uint64_t> stop_at = {});

    [[nodiscard]] event next(std::chrono::milliseconds patience) override;
    void resume(const std::vector<block_place>& last_blocks) override;
    void refuse(std::uint64_t sender, peer_error::severity how, const std::string& reason) override;
    void praise(std::uint64_t) override {}
    void give_back(std::vector<std::shared_ptr<const decoded_block>> used) override;
    [[nodiscard]] counters so_far() const override;

private:
    [[nodiscard]] event next_run();

    block_log_reader log_;
    unsigned threads_;
    std::optional<std::uint64_t> stop_at_;
    std::unique_ptr<block_feed> feed_; ///< after resume()
    block_place last_;
    std::uint64_t bytes_ = 0;
};

} // namespace chainbase::driver
