#pragma once

#include <tools/driver/sync/messages.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace chainbase::test {

/// A socket that blocks, and frames over it. Throws what the socket throws.
class raw_connection {
public:
    using tcp = boost::asio::ip::tcp;

    raw_connection() : socket(context) {}
    /// Connects.
    explicit raw_connection(std::uint16_t port) : socket(context) {
        socket.connect({boost::asio::ip::address_v4::loopback(), port});
    }

    void send(byte_view data) {
        boost::asio::write(socket, boost::asio::buffer(data.data(), data.size()));
    }

    struct frame {
        driver::wire::message type{};
        bytes payload;
    };
    frame receive() {
        bytes header(sizeof(driver::wire::frame_header));
        boost::asio::read(socket, boost::asio::buffer(header));
        const driver::frame_start start = driver::read_frame_start(header);
        frame result{start.type, bytes(start.payload_bytes)};
        boost::asio::read(socket, boost::asio::buffer(result.payload));
        driver::require_checksum(start, result.payload);
        return result;
    }

    /// What a peer says first, also which block is its last; returns what the client has, the
    /// newest first.
    std::vector<driver::block_place> greet(const std::string& chain,
                                           const driver::block_place& last = {}) {
        static_cast<void>(receive());
        send(driver::framed(driver::hello_message{chain, {}, last}));
        return driver::read_request(receive().payload).known;
    }

    /// Waits until the other end has hung up.
    void wait_for_end() {
        bytes ignored(4096);
        boost::system::error_code failure;
        while (!failure)
            socket.read_some(boost::asio::buffer(ignored), failure);
    }

    boost::asio::io_context context;
    tcp::socket socket;
};

/// A peer that does what a test says, with one connection after the other.
class scripted_peer {
public:
    /// script(connection, how manieth it is): in a thread of its own. What it throws ends the
    /// connection.
    using script = std::function<void(raw_connection&, int)>;

    explicit scripted_peer(script todo)
        : acceptor_(context_, {boost::asio::ip::address_v4::loopback(), 0}),
          thread_([this, todo = std::move(todo)] { work(todo); }) {}
    scripted_peer(const scripted_peer&) = delete;
    scripted_peer& operator=(const scripted_peer&) = delete;
    ~scripted_peer() {
        stopping_ = true;
        try {
            raw_connection wake(port());
        } catch (const std::exception&) { // it has ended
        }
        {
            const std::lock_guard held(mutex_);
            if (current_) ::shutdown(current_->socket.native_handle(), SHUT_RDWR);
        }
        thread_.join();
    }

    [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
    [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port()); }
    [[nodiscard]] int connections() const { return connections_; }

private:
    void work(const script& todo) {
        while (!stopping_) {
            raw_connection one;
            acceptor_.accept(one.socket);
            {
                const std::lock_guard held(mutex_);
                current_ = &one;
            }
            try {
                if (!stopping_) todo(one, connections_++);
            } catch (const std::exception&) { // the client has hung up
            }
            const std::lock_guard held(mutex_);
            current_ = nullptr;
        }
    }

    boost::asio::io_context context_;
    boost::asio::ip::tcp::acceptor acceptor_;
    std::atomic<bool> stopping_ = false;
    std::atomic<int> connections_ = 0;
    std::mutex mutex_;
    raw_connection* current_ = nullptr;
    std::thread thread_;
};

} // namespace chainbase::test
