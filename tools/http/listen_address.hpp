#pragma once

#include <cstdint>
#include <string>

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

} // namespace chainbase
