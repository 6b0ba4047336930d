#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::test {

/// A TCP connection over the loopback that blocks, as raw as a hostile client likes it.
class raw_connection {
public:
    /// Takes a socket over.
    explicit raw_connection(int socket) : socket_(socket) {}
    /// Connects, from 127.0.0.`from`.
    static raw_connection to(std::uint16_t port, unsigned from = 1) {
        raw_connection made(::socket(AF_INET, SOCK_STREAM, 0));
        sockaddr_in own = loopback(0);
        own.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + from);
        if (::bind(made.socket_, reinterpret_cast<const sockaddr*>(&own), sizeof own))
            throw std::runtime_error("cannot bind");
        const sockaddr_in address = loopback(port);
        if (::connect(made.socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address))
            throw std::runtime_error("cannot connect");
        return made;
    }
    raw_connection(raw_connection&& from) noexcept : socket_(std::exchange(from.socket_, -1)) {}
    raw_connection& operator=(raw_connection&&) = delete;
    ~raw_connection() {
        if (socket_ >= 0) ::close(socket_);
    }

    /// Throws when the other end has hung up, as exactly() does.
    void send(std::span<const std::byte> data) const {
        while (!data.empty()) {
            const ssize_t sent = ::send(socket_, data.data(), data.size(), MSG_NOSIGNAL);
            if (sent <= 0) throw std::runtime_error("cannot send");
            data = data.subspan(static_cast<std::size_t>(sent));
        }
    }
    [[nodiscard]] std::vector<std::byte> exactly(std::size_t size) const {
        std::vector<std::byte> all(size);
        for (std::size_t have = 0; have < size;) {
            const ssize_t got = ::recv(socket_, all.data() + have, size - have, 0);
            if (got <= 0) throw std::runtime_error("hung up");
            have += static_cast<std::size_t>(got);
        }
        return all;
    }
    /// What comes until the other end hangs up.
    std::string rest() const {
        std::string all;
        char part[4096];
        for (ssize_t got = 0; (got = ::recv(socket_, part, sizeof part, 0)) > 0;)
            all.append(part, static_cast<std::size_t>(got));
        return all;
    }
    void wait_for_end() const { static_cast<void>(rest()); }
    /// Ends what waits in another thread.
    void shut_down() const { ::shutdown(socket_, SHUT_RDWR); }

    static sockaddr_in loopback(std::uint16_t port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return address;
    }

private:
    int socket_;
};

} // namespace chainbase::test
