#include <catch2/catch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/sync_support.hpp>

/// What a broken or hostile client does costs its connection: the server goes on serving others.
using namespace chainbase;
using namespace chainbase::test;
namespace wire = driver::wire;

namespace {

struct small_server {
    captured_log quiet;
    temporary_folder folder;
    payments_tree tree{5};
    std::optional<served> server;

    explicit small_server(driver::block_server::options how = {}) {
        random_source random(4);
        std::size_t head = 1;
        for (int i = 0; i < 40; ++i)
            head = tree.add(head, random);
        write_blocks(folder / "log", "payments", tree.chain_to(head));
        how.hello_limit = how.request_limit = std::chrono::milliseconds(200);
        how.write_limit = std::chrono::milliseconds(200);
        server.emplace(folder / "log", std::vector<driver::losing_branch>{}, how);
    }
    void serves_others() const {
        const sync_call call({server->address()});
        CHECK(call.run().state.state_digest == tree.digest_at(tree.head()));
    }
};

driver::refusal_message refusal_of(raw_connection& with) {
    for (;;) {
        const auto frame = with.receive();
        if (frame.type == wire::message::refusal) return driver::read_refusal(frame.payload);
    }
}

} // namespace

TEST_CASE("a client that says nonsense is told so and hung up on") {
    const small_server story;
    const auto says = [&](const bytes& what) {
        raw_connection client(story.server->port());
        client.send(what);
        return refusal_of(client);
    };
    CHECK(says(driver::framed_keepalive()).reason == wire::refusal_reason::malformed);
    CHECK(says(bytes(16, std::byte{0xff})).text.find("unknown type") != std::string::npos);
    bytes large(16);
    large[3] = std::byte{0x7f};
    large[4] = std::byte{1};
    CHECK(says(large).text.find("of at most") != std::string::npos);
    bytes damaged = driver::framed(driver::hello_message{"payments", {}, {}});
    damaged.back() ^= std::byte{1};
    CHECK(says(damaged).text.find("checksum") != std::string::npos);
    const auto other = says(driver::framed(driver::hello_message{"steem-2016", {}, {}}));
    CHECK(other.reason == wire::refusal_reason::wrong_chain);
    story.serves_others();
}

TEST_CASE("a client whose request makes no sense is told so and hung up on") {
    const small_server story;
    const auto asks = [&](const driver::request_message& what) {
        raw_connection client(story.server->port());
        client.send(driver::framed(driver::hello_message{"payments", {}, {}}));
        client.send(driver::framed(what));
        return refusal_of(client);
    };
    CHECK(asks({}).reason == wire::refusal_reason::malformed);
    const auto none = asks({{{7, {1, 2}}, {3, {3, 4}}}});
    CHECK(none.reason == wire::refusal_reason::no_common_block);
    CHECK(none.text.find("block 3 (") != std::string::npos);
    CHECK(none.text.find("block 41 (") != std::string::npos);
    story.serves_others();
}

TEST_CASE("clients that say nothing, take nothing or talk on are hung up on in time") {
    const small_server story;
    raw_connection silent(story.server->port());
    raw_connection half(story.server->port());
    half.send(bytes(7));
    raw_connection talks(story.server->port());
    talks.send(driver::framed(driver::hello_message{"payments", {}, {}}));
    talks.send(driver::framed(driver::request_message{{{}}}));
    talks.send(driver::framed_keepalive());
    silent.wait_for_end();
    half.wait_for_end();
    talks.wait_for_end();
    story.serves_others();
}

TEST_CASE("a client that reads nothing is hung up on, whatever it was sent") {
    const captured_log quiet;
    const temporary_folder folder;
    block large{1, 0, {}}; // more than sockets hold
    for (int i = 0; i < 2; ++i)
        large.transactions.push_back({{bytes(7 << 20)}});
    write_blocks(folder / "log", "payments", {large, {2, 0, large.transactions}});
    driver::block_server::options how;
    how.write_limit = std::chrono::milliseconds(200);
    const served server(folder / "log", {}, how);
    raw_connection lazy(server.port());
    lazy.send(driver::framed(driver::hello_message{"payments", {}, {}}));
    lazy.send(driver::framed(driver::request_message{{{}}}));
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    CHECK_THROWS(([&] {
        for (;;)
            static_cast<void>(lazy.receive());
    }()));
}

TEST_CASE("one client too many is told to come later") {
    driver::block_server::options how;
    const bool of_one_address = GENERATE(false, true);
    (of_one_address ? how.connections_per_address : how.connections) = 2;
    const small_server story(how);
    {
        raw_connection first(story.server->port());
        raw_connection second(story.server->port());
        first.send(driver::framed(driver::hello_message{"payments", {}, {}}));
        second.send(driver::framed(driver::hello_message{"payments", {}, {}}));
        static_cast<void>(first.receive());
        static_cast<void>(second.receive());
        raw_connection third(story.server->port());
        CHECK(refusal_of(third).reason == wire::refusal_reason::busy);
    }
    story.serves_others(); // when the two are gone; until then it is tried again
}

TEST_CASE("blocks appear at the rate asked for, and a client waits for them") {
    driver::block_server::options how;
    how.there = 10;
    how.blocks_per_second = 200;
    const small_server story(how);
    raw_connection client(story.server->port());
    client.send(driver::framed(driver::hello_message{"payments", {}, {}}));
    client.send(driver::framed(driver::request_message{{{}}}));
    std::uint32_t blocks = 0;
    int waits = 0;
    for (bool is_end = false; !is_end;) {
        const auto frame = client.receive();
        if (frame.type == wire::message::blocks)
            blocks += driver::blocks_reader(frame.payload).count();
        if (frame.type != wire::message::caught_up) continue;
        const auto said = driver::read_caught_up(frame.payload);
        CHECK(said.head.number == blocks);
        is_end = said.is_end;
        ++waits;
    }
    CHECK(blocks == 41);
    CHECK(waits > 1);
    story.serves_others();
}

TEST_CASE("a client has longer to ask than to say who it is") {
    const captured_log quiet;
    const temporary_folder folder;
    const given_chain all;
    write_blocks(folder / "log", "payments", all.tree.chain_to(all.chain.back()));
    driver::block_server::options how;
    how.hello_limit = std::chrono::milliseconds(50);
    const served server(folder / "log", {}, how);
    raw_connection busy(server.port());
    busy.send(driver::framed(driver::hello_message{"payments", {}, {}}));
    static_cast<void>(busy.receive());
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    busy.send(driver::framed(driver::request_message{{{}}}));
    CHECK(busy.receive().type == wire::message::blocks);
}
