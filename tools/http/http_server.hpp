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

/// Where a server listens: "127.0.0.1:9464", "[::1]:0", or ":9464" for the loopback. Port 0 stands
/// for any that is free.
struct listen_address {
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;

    /// Throws usage_error for what is no numeric address and port.
    static listen_address parse(const std::string& text);

    /// Whether only this machine can connect: 127.0.0.0/8 and ::1.
    [[nodiscard]] bool is_loopback() const;
    /// Whether it stands for every address of this machine: 0.0.0.0 and ::.
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

    /// The target up to its query.
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
    std::size_t header_bytes = 8192; ///< of a request; a body is refused
    std::size_t connections = 64;
    std::size_t connections_per_address = 16; ///< so that one client does not take all
    /// For the first request of a connection to come, all of its header.
    std::chrono::milliseconds first_request{2000};
    /// For an answer to be taken, and a connection to be used again.
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
/// A request that is malformed, too large or too slow costs its connection and nothing else. Who
/// connects when there are as many connections as may be, or as many from its address, is let in:
/// the one that has waited longest for its client is closed, first of those that wait for a
/// request. Only while all of them are being answered, the new one is closed.
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
