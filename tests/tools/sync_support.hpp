#pragma once

#include <tools/driver/replay.hpp>
#include <tools/driver/sync/serve.hpp>
#include <tools/driver/sync/sync.hpp>

#include <tests/tools/payments_tree.hpp>
#include <tests/tools/scripted_peer.hpp>
#include <tests/tools/temporary_folder.hpp>

#include <atomic>
#include <optional>
#include <thread>

namespace chainbase::test {

/// A block_server in a thread of its own.
class served {
public:
    explicit served(const std::filesystem::path& log,
                    std::vector<driver::losing_branch> branches = {},
                    driver::block_server::options how = {}, std::uint16_t port = 0)
        : chain_(block_log_reader(log), std::move(branches)), server_(chain_, on(how, port)),
          port_(server_.port()), thread_([this] {
              while (!stopping_)
                  server_.run_for(std::chrono::milliseconds(10));
          }) {}
    ~served() {
        stopping_ = true;
        thread_.join();
    }

    [[nodiscard]] std::uint16_t port() const { return port_; }
    [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
    [[nodiscard]] const driver::served_chain& chain() const { return chain_; }

private:
    static driver::block_server::options on(driver::block_server::options how, std::uint16_t port) {
        how.listen.port = std::to_string(port);
        return how;
    }

    driver::served_chain chain_;
    driver::block_server server_;
    std::uint16_t port_;
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

/// A sync into a folder of its own, impatient.
struct sync_call {
    temporary_folder folder;
    driver::sync_options options;

    explicit sync_call(const std::vector<std::string>& peers) {
        for (const std::string& one : peers)
            options.peers.push_back(driver::parse_endpoint(one));
        options.state = folder / "state";
        options.once = true;
        options.network.pause = std::chrono::milliseconds(1);
        options.network.longest_pause = std::chrono::milliseconds(20);
        options.network.limits.silence = std::chrono::minutes(5); // scripts keep nothing alive
    }
    [[nodiscard]] driver::sync_report run() const {
        const catch_interruption signals;
        return driver::sync(options, signals);
    }
    /// The digest of the state as it was left.
    [[nodiscard]] std::string digest(const std::string& chain = "payments") const {
        return driver::chain_state(options.state, chain, options.lag).model().state_digest();
    }
};

/// The frame of one block of a tree.
inline bytes frame_of(const payments_tree& tree, std::size_t index) {
    driver::blocks_builder frame(tree.at(tree.at(index).parent).place);
    frame.add(encode_block(tree.at(index).value));
    return frame.finish();
}

/// That a peer has no more.
inline bytes end_at(const driver::block_place& head, bool is_end = true) {
    return driver::framed(driver::caught_up_message{head, is_end});
}

} // namespace chainbase::test
