#pragma once

#include <tools/driver/sync/served_chain.hpp>
#include <tools/endpoint_name.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace chainbase::driver {

/// Gives the blocks of a chain to whoever connects.
///
/// Invariants: (1) what a client does, or does not do, costs its own connection only; (2) there are
/// at most `connections` of them, and `connections_per_address` from the same one, each with one
/// frame and one record of the log in memory, and with a time limit on every step; (3) what a
/// client may send is read into bounded memory.
///
/// For one thread, in which all connections are served while run_for() runs.
class block_server {
public:
    struct options {
        endpoint_name listen{"127.0.0.1", "0"};
        std::size_t connections = 64;
        std::size_t connections_per_address = 8; ///< so that one client does not take all
        std::size_t frame_bytes = std::size_t{256} << 10;
        /// Blocks that appear each second behind the first `there`; nothing: all are there.
        std::optional<double> blocks_per_second;
        std::size_t there = 0;
        std::chrono::milliseconds hello_limit{10'000}; ///< to say who it is
        /// To say what it has. It applies first what others have sent, and opens its state.
        std::chrono::milliseconds request_limit{60'000};
        std::chrono::milliseconds write_limit{30'000}; ///< to take a frame
        std::chrono::milliseconds keepalive{2'000};
    };

    struct counters {
        std::uint64_t connections = 0;
        std::uint64_t refused = 0;  ///< that were, of them
        std::uint64_t finished = 0; ///< that had everything and hung up
        std::uint64_t blocks = 0;
        std::uint64_t bytes = 0;
    };

    /// Listens. Throws io_error when it cannot.
    block_server(const served_chain& chain, const options& how);
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

} // namespace chainbase::driver
