#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace chainbase::driver {

/// Where a server listens: "127.0.0.1:9464", "[::1]:0", or ":9464" for the loopback. Port 0 stands
/// for any that is free.
struct listen_address {
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;

    /// Throws usage_error for what is no numeric address and port.
    static listen_address parse(const std::string& text);
};

struct metrics_server_limits {
    std::size_t header_bytes = 8192; ///< of a request; a body is refused
    std::size_t connections = 64;    ///< more are closed at once
    /// For a request to come, an answer to be taken, and a connection to be used again.
    std::chrono::milliseconds patience{5000};
};

/// A server of plain HTTP for a scraper, with a thread of its own: `GET /metrics` answers with what
/// a function returns, `GET /` says so, anything else is refused. It shows numbers only, but to
/// everybody who can connect: to others than the loopback only on request.
///
/// A request that is malformed, too large or too slow costs its connection and nothing else.
class metrics_server {
public:
    /// Listens. `page` is called by the server's thread; what it throws is answered with 500.
    /// Throws io_error naming the address when that cannot be listened at.
    metrics_server(const listen_address& at, std::function<std::string()> page,
                   const metrics_server_limits& limits = {});
    ~metrics_server();
    metrics_server(const metrics_server&) = delete;
    metrics_server& operator=(const metrics_server&) = delete;

    /// Where it listens, with the port it got: "127.0.0.1:9464".
    [[nodiscard]] std::string address() const;
    [[nodiscard]] std::uint16_t port() const;

private:
    class listener;
    std::unique_ptr<listener> listener_;
};

} // namespace chainbase::driver
