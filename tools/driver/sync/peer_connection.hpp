#pragma once

#include <tools/driver/sync/messages.hpp>
#include <tools/driver/sync/peer_feed.hpp>
#include <tools/endpoint_name.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace chainbase::driver {

/// A connection to a peer: whole frames, each with a time limit.
///
/// Memory grows with the received bytes, not with a claimed length. All calls throw peer_error,
/// whose message names the peer and, once it sent something, the byte of its stream; no further
/// calls are allowed then. For one thread, which runs the io_context; its handlers may call
/// cancel().
class peer_connection {
public:
    using limits = peer_options::connection_limits;

    peer_connection(boost::asio::io_context& context, endpoint_name to, const limits& bounds,
                    std::atomic<std::uint64_t>& received);

    /// Returns the result of work(); adds the peer and the position to the message of its
    /// peer_error.
    template <typename Work>
    auto named(Work work) const {
        try {
            return work();
        } catch (const peer_error& problem) {
            fail(problem.how(), problem.what());
        }
    }

    void connect();
    void send(const bytes& frame);
    /// Exchanges hellos; `chain` is the client's.
    [[nodiscard]] hello_message greet(const std::string& chain);

    struct frame {
        wire::message type{};
        byte_view payload;
    };
    /// Returns the next frame, its checksum verified; valid until the next call.
    [[nodiscard]] frame next();

    /// For handlers of the io_context: sends while another operation waits; of several frames that
    /// wait for an earlier one, the last. If it fails, the pending operation does.
    void send_beside(bytes frame);
    /// Cancels the pending operation with an error.
    void cancel();

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// Throws peer_error describing the peer's last frame.
    [[noreturn]] void fail(peer_error::severity how, const std::string& what) const;
    /// Throws peer_error of the refusal in the last frame.
    [[noreturn]] void fail_refused(byte_view payload) const;

private:
    template <typename Begin>
    void run(Begin begin, std::chrono::steady_clock::time_point until, const char* what,
             const std::string& failed = "was cut off");
    void have(std::size_t size, std::chrono::steady_clock::time_point until);
    void make_room(std::size_t size);
    void write_beside();
    [[nodiscard]] boost::asio::ip::tcp::resolver::results_type
    look_up(std::chrono::steady_clock::time_point until);

    struct name_lookup;

    boost::asio::io_context& context_;
    std::shared_ptr<name_lookup> lookup_; ///< while a lookup runs
    boost::asio::ip::tcp::socket socket_;
    endpoint_name to_;
    std::string name_;
    limits bounds_;
    std::atomic<std::uint64_t>& received_;
    bytes beside_; ///< being sent by send_beside()
    bytes next_beside_;
    bytes buffer_;
    std::size_t begin_ = 0; ///< of the bytes not consumed yet
    std::size_t end_ = 0;
    std::size_t frame_ = 0;   ///< bytes of the frame that next() returned last
    std::uint64_t taken_ = 0; ///< bytes up to the current frame
};

} // namespace chainbase::driver
