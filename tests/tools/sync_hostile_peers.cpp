#include <catch2/catch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/sync_support.hpp>

#include <algorithm>
#include <cstring>

/// What a broken or hostile peer does costs its connection: a message that names it, the state at
/// the last good block, and the next peer's turn.
using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
namespace wire = driver::wire;

namespace {

/// 10 blocks of a chain of 30 come from a peer before it does `evil`.
struct story : given_chain {
    captured_log quiet;

    /// The peer alone: sync fails saying `why`, and the state is at a good block. Then with a good
    /// peer beside it: sync comes to the end.
    void tell(const std::function<void(raw_connection&)>& evil, const char* why,
              std::uint64_t head = 10) const {
        const scripted_peer bad([&](raw_connection& with, int) {
            const auto known = with.greet("payments");
            give(with, known.front().number, 10);
            evil(with);
            with.wait_for_end();
        });
        const scripted_peer good([&](raw_connection& with, int) { give_all(with); });
        sync_call call({bad.address()});
        call.options.lag = 5;
        call.options.network.attempts = 2;
        call.options.network.progress = std::chrono::milliseconds(150);
        call.options.network.limits.silence = std::chrono::milliseconds(250);
        call.options.network.limits.frame = std::chrono::milliseconds(250);
        CHECK_THROWS_WITH(call.run(),
                          Contains(why) && Contains(bad.address()) && Contains("name another"));
        CHECK(driver::chain_state(call.options.state, "payments", 5).head() == head);
        call.options.peers.push_back(parse_endpoint(good.address()));
        CHECK(call.run().state.state_digest == digest());
    }
};

bytes with_header(std::uint32_t length, std::uint32_t type, byte_view payload = {}) {
    wire::frame_header header;
    header.payload_bytes = length;
    header.type = type;
    header.checksum = 1;
    bytes frame(sizeof header + payload.size());
    std::memcpy(frame.data(), &header, sizeof header);
    std::ranges::copy(payload, frame.begin() + sizeof header);
    return frame;
}

} // namespace

TEST_CASE("a peer that hangs up, is silent, or sends too slowly") {
    const story all;
    all.tell([](raw_connection& with) { with.socket.close(); }, "hung up");
    all.tell([](raw_connection&) {}, "too slow");
    all.tell(
        [](raw_connection& with) {
            const bytes frame = with_header(1000, 3, bytes(1000));
            for (const std::byte one : frame) {
                with.send({&one, 1});
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
            }
        },
        "too slow");
    all.tell(
        [](raw_connection& with) {
            for (;;) {
                with.send(driver::framed_keepalive());
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
            }
        },
        "no blocks for");
}

TEST_CASE("a peer whose frames are malformed") {
    const story all;
    all.tell([](raw_connection& with) { with.send(with_header(UINT32_MAX, 3)); },
             "a message of 4294967295 bytes");
    all.tell([](raw_connection& with) { with.send(with_header(200'000, 4)); },
             "a message of 200000 bytes");
    all.tell([](raw_connection& with) { with.send(with_header(0, 77)); }, "unknown type 77");
    all.tell([](raw_connection& with) { with.send(with_header(8, 3, bytes(8))); },
             "wrong checksum");
    all.tell([](raw_connection& with) { with.send(driver::framed(driver::hello_message{})); },
             "not due");
    all.tell(
        [&](raw_connection& with) {
            bytes frame = frame_of(all.tree, all.chain[10]);
            frame[frame.size() / 2] ^= std::byte{4};
            with.send(frame);
        },
        "wrong checksum");
}

namespace {

/// A frame of blocks with what the lambda makes of its payload, and a right checksum.
bytes forged_blocks(const payments_tree& tree, std::size_t index,
                    const std::function<void(bytes&)>& change) {
    bytes payload = frame_of(tree, index);
    payload.erase(payload.begin(), payload.begin() + sizeof(wire::frame_header));
    change(payload);
    bytes frame = with_header(static_cast<std::uint32_t>(payload.size()), 3, payload);
    const std::uint64_t sum = driver::frame_checksum(payload, wire::message::blocks);
    std::memcpy(frame.data() + offsetof(wire::frame_header, checksum), &sum, sizeof sum);
    return frame;
}

} // namespace

TEST_CASE("a peer whose blocks are none, or are not linked") {
    const story all;
    const auto forged = [&](const char* why, const std::function<void(bytes&)>& change) {
        all.tell(
            [&](raw_connection& with) {
                with.send(forged_blocks(all.tree, all.chain[10], change));
            },
            why);
    };
    forged("4294967295 blocks in", [](bytes& payload) {
        std::memset(payload.data() + offsetof(wire::blocks, count), 0xff, 4);
    });
    forged("a message of 0 blocks", [](bytes& payload) {
        std::memset(payload.data() + offsetof(wire::blocks, count), 0, 4);
    });
    forged("reaches beyond its message",
           [](bytes& payload) { std::memset(payload.data() + sizeof(wire::blocks), 0xff, 4); });
    forged("behind the last", [](bytes& payload) { payload.push_back({}); });
    forged("is no block of the chain payments", [](bytes& payload) {
        std::memset(payload.data() + sizeof(wire::blocks) + 6, 0xff, 10);
    });
    forged("blocks of 5 bytes, which has at least 32", [](bytes& payload) { payload.resize(5); });
    forged("numbers rise", [](bytes& payload) { payload[0] = std::byte{200}; });
    forged("nobody has sent", [](bytes& payload) { payload[9] ^= std::byte{1}; });
    all.tell([&](raw_connection& with) { with.send(frame_of(all.tree, all.chain[20])); },
             "nobody has sent");
    all.tell(
        [&](raw_connection& with) {
            random_source random(3);
            payments_tree other(5);
            with.send(frame_of(other, other.add(1, random)));
        },
        "cannot go back behind its irreversible");
    all.tell(
        [&](raw_connection& with) {
            with.send(end_at(all.place(9), false));
            with.send(end_at(all.place(9), false));
        },
        "says twice");
    all.tell([&](raw_connection& with) { with.send(end_at(all.place(20))); },
             "which it has not sent");
}

TEST_CASE("a peer that sends what is known already, without end") {
    const story all;
    all.tell(
        [&](raw_connection& with) {
            driver::blocks_builder frame(all.place(8));
            frame.add(encode_block(all.tree.at(all.chain[9]).value));
            const bytes one = frame.finish();
            for (;;)
                with.send(one);
        },
        "known already");
}

TEST_CASE("a peer with bad blocks without end, and one whose chain has one") {
    const story all;
    random_source random(8);
    payments_tree tree = all.tree;
    std::vector<bytes> frames;
    for (std::size_t at = all.chain[9]; frames.size() < 30;) {
        at = tree.add(at, random, frames.empty());
        frames.push_back(frame_of(tree, at));
    }
    const driver::block_place head = tree.at(tree.size() - 1).place;
    all.tell(
        [&](raw_connection& with) {
            for (const bytes& one : frames)
                with.send(one);
            with.send(end_at(head));
        },
        "has the money");
    all.tell(
        [&](raw_connection& with) {
            for (;;)
                with.send(frames.back());
        },
        "nobody has sent");
}

TEST_CASE("a peer of another chain, another version, or without a hello") {
    const story all;
    const auto first_words = [&](const bytes& said, const char* why) {
        const scripted_peer peer([&](raw_connection& with, int) {
            static_cast<void>(with.receive());
            with.send(said);
            with.wait_for_end();
        });
        sync_call call({peer.address()});
        CHECK_THROWS_WITH(call.run(), Contains(why));
        CHECK_FALSE(std::filesystem::exists(call.options.state));
    };
    bytes hello = driver::framed(driver::hello_message{"payments", {}, {}});
    first_words(driver::framed_keepalive(), "begins without a hello");
    first_words(driver::framed(driver::hello_message{"nothing", {}, {}}), "no model for the chain");
    first_words(driver::framed(driver::hello_message{"a\nb", {}, {}}), "no text");
    first_words(
        driver::framed(driver::refusal_message{wire::refusal_reason::wrong_chain, "not\nfor you"}),
        "it refuses: \"not?for you\"");
    const auto payload = [&] { return std::span(hello).subspan(sizeof(wire::frame_header)); };
    const auto seal = [&] {
        const std::uint64_t sum = driver::frame_checksum(payload(), wire::message::hello);
        std::memcpy(hello.data() + offsetof(wire::frame_header, checksum), &sum, sizeof sum);
    };
    payload()[offsetof(wire::hello, version)] = std::byte{9};
    seal();
    first_words(hello, "version 9 of the protocol, this program speaks 1");
    payload()[0] = std::byte{9};
    seal();
    first_words(hello, "does not speak this protocol");
    bytes empty = with_header(0, 1);
    const std::uint64_t sum = driver::frame_checksum({}, wire::message::hello);
    std::memcpy(empty.data() + offsetof(wire::frame_header, checksum), &sum, sizeof sum);
    first_words(empty, "does not speak this protocol");
}

TEST_CASE("a state of another chain, or another branch below the irreversible block") {
    const story all;
    const temporary_folder folder;
    write_blocks(folder / "log", "payments", all.tree.chain_to(all.chain.back()));
    const served server(folder / "log");
    sync_call call({server.address()});
    {
        const driver::chain_state other(call.options.state, "steem-2016", 5);
    }
    CHECK_THROWS_WITH(call.run(), Contains("blocks of payments, not of steem-2016"));
    call.options.chain = "payments";
    CHECK_THROWS_WITH(call.run(), Contains("is of the chain steem-2016, not of payments"));
    sync_call forked({server.address()});
    {
        random_source random(99);
        payments_tree other(5);
        driver::chain_state state(forked.options.state, "payments", 0);
        state.apply(other.at(1).value);
        state.apply(other.at(other.add(1, random)).value);
    }
    CHECK_THROWS_WITH(forked.run(),
                      Contains("this server has none") && Contains("sync into another folder"));
}
