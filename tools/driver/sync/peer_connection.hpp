#pragma once

#include <tools/driver/sync/block_server.hpp>
#include <tools/driver/sync/messages.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace chainbase::driver {

/// A connection to a peer that sends blocks: whole frames, each with a time limit.
///
/// Memory grows with what has arrived, not with what a length claims. Everything throws peer_error,
/// whose message names the peer and the byte of what it sent; after that nothing may be called. For
/// one thread, which runs the io_context; cancel() may be called by a handler in it.
class peer_connection {
public:
    struct limits {
        std::chrono::milliseconds connect{10'000}; ///< to connect, and to say hello
        std::chrono::milliseconds silence{15'000}; ///< between two pieces of whatever
        std::chrono::milliseconds frame{60'000};   ///< from its first byte to its last
    };

    peer_connection(boost::asio::io_context& context, endpoint_name to, const limits& bounds,
                    std::atomic<std::uint64_t>& received);

    void connect();
    void send(const bytes& frame);

    struct frame {
        wire::message type{};
        byte_view payload;
    };
    /// The next frame, its checksum verified; valid until the next call.
    [[nodiscard]] frame next();

    /// Ends what is waiting, with an error.
    void cancel();

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// Throws: what is wrong with what it sent last.
    [[noreturn]] void fail(peer_error::severity how, const std::string& what) const;
    /// Returns what work() does; says of a peer_error that it throws which peer it was, and where.
    template <typename Work>
    auto named(Work work) const {
        try {
            return work();
        } catch (const peer_error& problem) {
            fail(problem.how(), problem.what());
        }
    }

private:
    using clock = std::chrono::steady_clock;

    template <typename Begin>
    void run(Begin begin, clock::time_point until, const char* what);
    void have(std::size_t size, clock::time_point until);
    void make_room(std::size_t size);

    struct name_lookup;
    [[nodiscard]] boost::asio::ip::tcp::resolver::results_type look_up(clock::time_point until);

    boost::asio::io_context& context_;
    std::shared_ptr<name_lookup> lookup_; ///< while there is one
    boost::asio::ip::tcp::socket socket_;
    endpoint_name to_;
    std::string name_;
    limits bounds_;
    std::atomic<std::uint64_t>& received_;
    bytes buffer_;
    std::size_t begin_ = 0; ///< of what is not taken yet
    std::size_t end_ = 0;
    std::size_t frame_ = 0;   ///< bytes of the frame that next() returned last
    std::uint64_t taken_ = 0; ///< bytes up to the frame that is looked at
};

} // namespace chainbase::driver
