#pragma once

#include <tools/http/http_server.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace chainbase::driver {

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
                   const http_limits& limits = {});

    /// Where it listens, with the port it got: "127.0.0.1:9464".
    [[nodiscard]] std::string address() const { return server_.address().text(); }
    [[nodiscard]] std::uint16_t port() const { return server_.address().port; }

private:
    http_server server_;
};

} // namespace chainbase::driver
