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

/// To follow these peers to the end of their chain, without patience.
inline void follow_impatiently(driver::following_options& how,
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
        follow_impatiently(options, peers, folder / "state");
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

/// A chain in a tree, for peers to give.
struct given_chain {
    payments_tree tree{5};
    std::vector<std::size_t> chain{1};

    explicit given_chain(std::size_t blocks = 30) {
        random_source random(7);
        while (chain.size() < blocks)
            chain.push_back(tree.add(chain.back(), random));
    }
    /// Those from the one at `first` on, up to the one at `end`.
    void give(raw_connection& with, std::size_t first, std::size_t end) const {
        for (std::size_t i = first; i < end; ++i)
            with.send(frame_of(tree, chain[i]));
    }
    /// All that a client lacks, and that this is all.
    void give_all(raw_connection& with) const {
        give(with, common(with.greet("payments")), chain.size());
        with.send(end_at(place(chain.size() - 1)));
        with.wait_for_end();
    }
    /// How many of the blocks a client has that can go back to these.
    [[nodiscard]] std::size_t common(const std::vector<driver::block_place>& known) const {
        for (const driver::block_place& one : known)
            for (std::size_t i = chain.size(); i > 0; --i)
                if (place(i - 1) == one) return i;
        return 0;
    }
    [[nodiscard]] driver::block_place place(std::size_t i) const { return tree.at(chain[i]).place; }
    [[nodiscard]] std::string digest() const { return tree.digest_at(chain.back()); }
};

/// Blocks grown at random places of a tree, some of them bad, and the peer that sends them in the
/// order in which they came.
class storm {
public:
    storm(random_source& random, std::size_t lag, std::size_t recent) : tree(lag) {
        frames_.push_back(frame_of(tree, 1));
        for (int i = 0; i < 150; ++i) {
            const std::size_t parent =
                random.chance(700) ? tree.any_parent(random, recent) : tree.head();
            frames_.push_back(frame_of(tree, tree.add(parent, random, random.chance(60))));
        }
    }
    void send(raw_connection& to) const {
        to.greet("payments");
        for (const bytes& one : frames_)
            to.send(one);
        to.send(end_at(tree.at(tree.head()).place));
        to.wait_for_end();
    }

    payments_tree tree;

private:
    std::vector<bytes> frames_;
};

} // namespace chainbase::test
