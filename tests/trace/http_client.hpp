#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace chainbase::test {

/// One TCP connection to a port of the loopback, as raw as a hostile client likes it.
class http_client {
public:
    explicit http_client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
            throw std::runtime_error("cannot connect");
    }
    http_client(const http_client&) = delete;
    http_client& operator=(const http_client&) = delete;
    ~http_client() { ::close(socket_); }

    /// Returns whether all of it was taken.
    bool send(std::string_view text) const {
        while (!text.empty()) {
            const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
            if (sent <= 0) return false;
            text.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }
    /// What comes until the server closes.
    [[nodiscard]] std::string rest() const {
        std::string all;
        char part[4096];
        for (ssize_t got = 0; (got = ::recv(socket_, part, sizeof part, 0)) > 0;)
            all.append(part, static_cast<std::size_t>(got));
        return all;
    }
    /// What comes up to and including `end`.
    [[nodiscard]] std::string until(std::string_view end) const {
        std::string all;
        char one = 0;
        while (!all.ends_with(end) && ::recv(socket_, &one, 1, 0) == 1)
            all += one;
        return all;
    }

private:
    int socket_;
};

/// The answer to one request, closed afterwards.
inline std::string http_get(std::uint16_t port, const std::string& target,
                            const std::string& method = "GET") {
    const http_client client(port);
    client.send(method + " " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    return client.rest();
}

inline std::string body_of(const std::string& answer) {
    const std::size_t end = answer.find("\r\n\r\n");
    return end == std::string::npos ? std::string() : answer.substr(end + 4);
}

} // namespace chainbase::test
