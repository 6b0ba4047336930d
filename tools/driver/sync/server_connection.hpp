#pragma once

#include <tools/driver/sync/block_server.hpp>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace chainbase::driver {

/// One client of a block_server, from its hello on:
///
///     read hello -> write hello -> read request -> write frames ... caught up -> keepalives
///
/// One operation at a time writes or reads ahead of it, and one timer limits each. After the
/// request the client has nothing to say: a read waits for it to hang up.
class server_connection : public std::enable_shared_from_this<server_connection> {
public:
    enum class end { refused, finished, gone };

    /// What a connection needs of the server.
    class host {
    public:
        virtual ~host() = default;
        /// Blocks of the chain that there are now.
        [[nodiscard]] virtual std::size_t available() const = 0;
        virtual void sent(std::uint64_t blocks, std::uint64_t bytes) = 0;
        /// Called once for each that was started.
        virtual void ended(const std::shared_ptr<server_connection>& one, end how) = 0;
    };

    server_connection(boost::asio::ip::tcp::socket socket, std::string name,
                      const served_chain& chain, const block_server::options& how, host& server);

    void start();
    /// Says that there are too many, and hangs up.
    void turn_away();
    void close();

private:
    using socket = boost::asio::ip::tcp::socket;
    using code = boost::system::error_code;

    template <typename Then>
    void read_frame(wire::message expected, std::chrono::milliseconds within, Then then);
    template <typename Then>
    void read_payload(frame_start start, wire::message expected, Then then);
    template <typename Then>
    void write(bytes frame, Then then);
    template <typename Work>
    void guarded(Work work);
    void limit(std::chrono::milliseconds time, const char* what);

    void take_hello(byte_view payload);
    void take_request(byte_view payload);
    void send_next();
    void send_state(std::size_t available);
    void wait_for_more();
    void watch_for_end();
    void refuse(wire::refusal_reason reason, const std::string& text);
    void finish(end how);

    socket socket_;
    boost::asio::steady_timer limit_;
    boost::asio::steady_timer pause_;
    std::string name_;
    const served_chain& chain_;
    const block_server::options& how_;
    host& server_;
    std::optional<served_chain::cursor> cursor_;
    std::array<std::byte, sizeof(wire::frame_header)> header_{};
    bytes in_;
    bytes out_;
    std::array<std::byte, 1> beyond_{};
    std::uint64_t told_ = UINT64_MAX; ///< blocks that the client knows to be all there are
    std::chrono::steady_clock::time_point last_write_{};
    bool is_counted_ = false; ///< among the server's
    bool is_over_ = false;
    bool is_refusing_ = false;
    bool has_all_ = false;
};

} // namespace chainbase::driver
