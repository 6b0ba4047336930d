#pragma once

#include <tools/driver/sync/served_chain.hpp>
#include <tools/driver/sync/served_feed.hpp>
#include <tools/driver/sync/served_snapshot.hpp>
#include <tools/endpoint_name.hpp>
#include <tools/interruption.hpp>

#include <boost/describe/class.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace chainbase::driver {

/// Serves the blocks of a chain, a snapshot, and the feed of a state to clients.
///
/// Invariants: (1) a faulty client costs its own connection only; (2) there are at most
/// `connections` of them, and `connections_per_address` from the same address, each with one frame
/// and one record of the log or piece of a snapshot's file in memory, and with a time limit on
/// every step; (3) everything received is read into bounded memory.
///
/// For one thread: run_for() serves all connections.
class block_server {
public:
    struct options {
        endpoint_name listen{"127.0.0.1", "0"};
        std::size_t connections = 64;
        std::size_t connections_per_address = 8; ///< so that one client cannot take all
        std::size_t frame_bytes = std::size_t{256} << 10;
        /// Blocks published each second behind the first `there`; nothing: all are available.
        std::optional<double> blocks_per_second;
        std::size_t there = 0;
        std::chrono::milliseconds hello_limit{10'000}; ///< for the client's hello
        /// For the request. The client first applies other peers' blocks, and opens its state.
        std::chrono::milliseconds request_limit{60'000};
        std::chrono::milliseconds write_limit{30'000}; ///< for sending a frame
        std::chrono::milliseconds keepalive{2'000};
    };

    struct counters {
        std::uint64_t connections = 0;
        std::uint64_t refused = 0;  ///< of these, refused
        std::uint64_t finished = 0; ///< clients that got everything and disconnected
        std::uint64_t blocks = 0;
        std::uint64_t bytes = 0;
        std::uint64_t snapshot_files = 0; ///< chunks, and manifests
        BOOST_DESCRIBE_CLASS(counters, (),
                             (connections, finished, refused, blocks, bytes, snapshot_files), (),
                             ())
    };

    /// What it offers, each of which outlives it; null: none.
    struct offers {
        const served_chain* blocks = nullptr;
        const served_snapshot* snapshot = nullptr;
        served_feed* feed = nullptr;

        /// Empty: not known.
        [[nodiscard]] std::string chain() const;
    };

    /// Listens. Throws io_error on failure.
    block_server(const offers& what, const options& how);
    ~block_server();
    block_server(const block_server&) = delete;
    block_server& operator=(const block_server&) = delete;

    [[nodiscard]] std::uint16_t port() const;
    /// "127.0.0.1:4000".
    [[nodiscard]] std::string address() const;
    /// Serves for that long.
    void run_for(std::chrono::milliseconds time);
    [[nodiscard]] const counters& so_far() const noexcept;

private:
    struct parts;
    std::unique_ptr<parts> parts_;
};

struct serve_options {
    std::filesystem::path block_log; ///< empty: no blocks are served
    /// Blocks published each second, as on a live chain.
    std::optional<double> blocks_per_second;
    /// With blocks_per_second: the number of the last block available at the start.
    std::uint64_t from_head = 0;
    std::filesystem::path forks;         ///< a file of branches beside the log; empty: none
    std::vector<losing_branch> branches; ///< further branches
    std::optional<std::filesystem::path> snapshot;     ///< a folder, offered beside the blocks
    std::vector<std::filesystem::path> snapshot_bases; ///< folders that have chunks of it, too
    std::optional<std::filesystem::path> feed;         ///< a state, whose feed is offered
    bool may_take_over = false; ///< whether a client of the feed may take the state's place
    /// Stop when a client got everything and disconnected.
    bool once = false;
    block_server::options network;
};

struct serve_report {
    std::string chain;
    std::string address;
    block_place head;
    std::string snapshot; ///< its name; empty: none is offered
    std::string feed;     ///< the state; empty: none is offered
    block_server::counters served;
    bool interrupted = false;
};

/// Serves the blocks of a log, and branches that lose against it, and what else the options name,
/// until a signal. Throws usage_error when there is neither a log nor a feed. Calls
/// ready(report) once it listens. Throws what reading the log and the branches throws,
/// interrupted_error when the signal comes before that is done, io_error when it cannot listen.
[[nodiscard]] serve_report serve(const serve_options& options, const catch_interruption& signals,
                                 const std::function<void(const serve_report&)>& ready);

} // namespace chainbase::driver
