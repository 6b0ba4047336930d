#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chainbase {

/// A listening address: "127.0.0.1:9464", "[::1]:0", or ":9464" for the loopback. Port 0 takes any
/// free port.
struct listen_address {
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;

    /// Throws usage_error unless `text` is a numeric address and port.
    static listen_address parse(const std::string& text);

    /// Whether only this machine can connect: 127.0.0.0/8 and ::1.
    [[nodiscard]] bool is_loopback() const;
    /// Whether it means every address of this machine: 0.0.0.0 and ::.
    [[nodiscard]] bool is_any() const;
    /// "127.0.0.1:9464", "[::1]:9464".
    [[nodiscard]] std::string text() const;
};

/// The fields of a header, in their order.
using http_fields = std::vector<std::pair<std::string, std::string>>;

/// A request without a body, as it was sent.
struct http_request {
    std::string method; ///< "GET"
    std::string target; ///< "/rows?type=account", still encoded
    http_fields fields;

    /// The target without its query.
    [[nodiscard]] std::string_view path() const noexcept;
    /// What follows the first '?' of the target.
    [[nodiscard]] std::string_view query() const noexcept;
    /// The values of all fields of this name, whatever its case.
    [[nodiscard]] std::vector<std::string_view> values(std::string_view name) const;
};

/// An answer. Its length is added by the server.
struct http_answer {
    unsigned status = 200;
    std::string type; ///< "text/html; charset=utf-8"
    std::string body;
    http_fields fields;
};

struct http_limits {
    std::size_t header_bytes = 8192; ///< limit of a request; a body is refused
    std::size_t connections = 64;
    std::size_t connections_per_address = 16; ///< so that one client cannot take all
    /// Time limit for a request with its whole header, and for sending an answer. Generous, since a
    /// machine that starves the server of time must not look like a slow client.
    std::chrono::milliseconds patience{5000};
};

struct http_options {
    std::string name = "http"; ///< of its threads, and in messages
    http_limits limits;
    std::size_t threads = 1; ///< requests handled at once
    http_fields always;      ///< added to every answer, also to those the server makes itself
};

/// A plain HTTP server with its own threads. A handler answers GET and HEAD; other methods are
/// refused before it is called.
///
/// A malformed, too large or too slow request costs only its own connection. When the connection
/// limit, or the limit of an address, is reached, a new connection replaces the one that has waited
/// longest for its client, preferring those that wait for a request. The new one is closed only
/// while all others are being answered.
class http_server {
public:
    using handler = std::function<http_answer(const http_request&)>;

    /// Listens; clients wait until serve(). Throws io_error naming the address when listening there
    /// fails.
    explicit http_server(const listen_address& at, const http_options& options = {});
    /// Starts to answer; call it once. The server's threads call `answer`, several at once if there
    /// are several; an exception is answered with 500. Throws limit_error when no more threads can
    /// be started.
    void serve(handler answer);
    /// Waits for running handlers and closes the connections.
    ~http_server();
    http_server(const http_server&) = delete;
    http_server& operator=(const http_server&) = delete;

    /// The listening address, with the actual port.
    [[nodiscard]] listen_address address() const;

private:
    class listener;
    std::unique_ptr<listener> listener_;
};

} // namespace chainbase
