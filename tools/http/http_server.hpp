#pragma once

#include <tools/http/http_message.hpp>
#include <tools/http/listen_address.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace chainbase {

struct http_limits {
    std::size_t header_bytes = 8192; ///< of a request; a body is refused
    std::size_t connections = 64;    ///< more are closed at once
    /// For a request to come, an answer to be taken, and a connection to be used again.
    std::chrono::milliseconds patience{5000};
};

struct http_options {
    std::string name = "http"; ///< of its threads, and in messages
    http_limits limits;
    std::size_t threads = 1; ///< so many requests are handled at once
    http_fields always;      ///< added to every answer, also to those that the handler never sees
};

/// A server of plain HTTP with threads of its own. It answers GET and HEAD with what a handler
/// makes of the request; other methods are refused before that.
///
/// A request that is malformed, too large or too slow costs its connection and nothing else.
class http_server {
public:
    using handler = std::function<http_answer(const http_request&)>;

    /// Listens; who connects waits until serve(). Throws io_error naming the address when that
    /// cannot be listened at.
    explicit http_server(const listen_address& at, const http_options& options = {});
    /// Starts to answer; to be called once. `answer` is called by the server's threads, by several
    /// at once if there are several; what it throws is answered with 500. Throws limit_error when
    /// there may be no more threads.
    void serve(handler answer);
    /// Waits for the handlers that run; connections are closed.
    ~http_server();
    http_server(const http_server&) = delete;
    http_server& operator=(const http_server&) = delete;

    /// Where it listens, with the port it got.
    [[nodiscard]] listen_address address() const;

private:
    class listener;
    std::unique_ptr<listener> listener_;
};

} // namespace chainbase
