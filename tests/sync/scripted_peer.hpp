#pragma once

#include <tools/driver/sync/messages.hpp>
#include <tools/driver/sync/serve.hpp>
#include <tools/driver/sync/sync.hpp>

#include <tests/sync/payments_chains.hpp>
#include <tests/sync/raw_connection.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace chainbase::test {

/// Frames over a socket.
class peer_socket : public raw_connection {
public:
    using raw_connection::raw_connection;
    explicit peer_socket(raw_connection from) : raw_connection(std::move(from)) {}
    /// Connects.
    static peer_socket to(std::uint16_t port) { return peer_socket(raw_connection::to(port)); }

    struct frame {
        driver::wire::message type{};
        bytes payload;
    };
    [[nodiscard]] frame receive() const {
        const driver::frame_start start =
            driver::read_frame_start(exactly(sizeof(driver::wire::frame_header)));
        frame result{start.type, exactly(start.payload_bytes)};
        driver::require_checksum(start, result.payload);
        return result;
    }

    /// What a peer says first; returns what the client has, the newest first.
    std::vector<driver::block_place> greet() const {
        static_cast<void>(receive());
        send(driver::framed(driver::hello_message{"payments", {}, {}}));
        return driver::read_request(receive().payload).known;
    }
    /// What a client says first.
    void say_hello() const { send(driver::framed(driver::hello_message{"payments", {}, {}})); }
    void ask_for_all() const { send(driver::framed(driver::request_message{{{}}})); }
};

/// A peer that runs a test's script on one connection after the other.
class scripted_peer {
public:
    /// Runs in its own thread. An exception ends the connection.
    using script = std::function<void(peer_socket&)>;

    explicit scripted_peer(script todo) : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address = raw_connection::loopback(0);
        socklen_t size = sizeof address;
        auto* const generic = reinterpret_cast<sockaddr*>(&address);
        if (::bind(listener_, generic, size) || ::listen(listener_, 16) ||
            ::getsockname(listener_, generic, &size))
            throw std::runtime_error("cannot listen");
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this, todo = std::move(todo)] { work(todo); });
    }
    scripted_peer(const scripted_peer&) = delete;
    scripted_peer& operator=(const scripted_peer&) = delete;
    ~scripted_peer() {
        ::shutdown(listener_, SHUT_RDWR);
        {
            const std::lock_guard held(mutex_);
            is_stopping_ = true;
            if (current_) current_->shut_down();
        }
        thread_.join();
        ::close(listener_);
    }

    [[nodiscard]] std::uint16_t port() const { return port_; }
    [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
    [[nodiscard]] int connections() const { return connections_; }

private:
    void work(const script& todo) {
        for (;;) {
            const int accepted = ::accept(listener_, nullptr, nullptr);
            if (accepted < 0) return;
            peer_socket one(accepted);
            {
                const std::lock_guard held(mutex_);
                if (is_stopping_) return;
                current_ = &one;
            }
            ++connections_;
            try {
                todo(one);
            } catch (const std::exception&) { // the client has hung up
            }
            const std::lock_guard held(mutex_);
            current_ = nullptr;
        }
    }

    int listener_;
    std::uint16_t port_ = 0;
    std::atomic<int> connections_ = 0;
    std::mutex mutex_;
    bool is_stopping_ = false;
    raw_connection* current_ = nullptr;
    std::thread thread_;
};

/// A block_server in a thread of its own.
class served {
public:
    explicit served(const std::filesystem::path& log, driver::block_server::options how = {},
                    std::vector<driver::losing_branch> branches = {})
        : chain_(block_log_reader(log), std::move(branches)), server_({&chain_}, how),
          thread_([this] {
              while (!is_stopping_)
                  server_.run_for(std::chrono::milliseconds(10));
          }) {}
    ~served() {
        is_stopping_ = true;
        thread_.join();
    }

    [[nodiscard]] std::uint16_t port() const { return server_.port(); }
    [[nodiscard]] std::string address() const { return server_.address(); }

private:
    driver::served_chain chain_;
    driver::block_server server_;
    std::atomic<bool> is_stopping_ = false;
    std::thread thread_;
};

/// Follows these peers to the end of their chain, without waiting.
inline void follow_without_waiting(driver::following_options& how,
                                   const std::vector<std::string>& peers,
                                   const std::filesystem::path& state) {
    for (const std::string& one : peers)
        how.peers.push_back(parse_endpoint(one));
    how.state = state;
    how.once = true;
    how.network.pause = std::chrono::milliseconds(1);
    how.network.longest_pause = std::chrono::milliseconds(20);
    how.network.limits.silence = std::chrono::minutes(5); // scripts keep nothing alive
}

/// A sync into a folder of its own.
struct sync_call {
    temporary_folder folder{memory_or_disk()};
    driver::sync_options options;

    explicit sync_call(const std::vector<std::string>& peers) {
        follow_without_waiting(options, peers, folder / "state");
    }
    [[nodiscard]] driver::sync_report run() const {
        const catch_interruption signals;
        return driver::sync(options, signals);
    }
};

/// The frame of one block of a tree.
inline bytes frame_of(const payments_tree& tree, std::size_t index) {
    driver::blocks_builder frame(tree.at(tree.at(index).parent).place);
    frame.add(encode_block(tree.at(index).value));
    return frame.finish();
}

/// A chain of so many blocks, for peers to give.
struct given_chain {
    payments_tree tree{5};
    std::vector<std::size_t> chain{1};

    explicit given_chain(std::size_t blocks = 30) {
        for (const std::size_t one : tree.grow(1, blocks - 1))
            chain.push_back(one);
    }
    /// Those from the one at `first` on, up to the one at `end`.
    void give(peer_socket& with, std::size_t first, std::size_t end) const {
        for (std::size_t i = first; i < end; ++i)
            with.send(frame_of(tree, chain[i]));
    }
    /// All that a client lacks whose blocks are all of this chain, and that this is all.
    void give_all(peer_socket& with) const {
        give(with, with.greet().front().number, chain.size());
        with.send(driver::framed(driver::caught_up_message{tree.at(chain.back()).place, true}));
        with.wait_for_end();
    }
    void write_log(const std::filesystem::path& path) const {
        write_blocks(path, "payments", tree.chain_to(chain.back()));
    }
    [[nodiscard]] std::string digest() const { return tree.digest_at(chain.back()); }
};

} // namespace chainbase::test
