#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <netdb.h>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/sync_support.hpp>

#include <algorithm>

/// Where a server is, and how those who look for one speak about it.
using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

namespace {

bool has_address(const char* host) {
    addrinfo* found = nullptr;
    if (getaddrinfo(host, nullptr, nullptr, &found) != 0) return false;
    freeaddrinfo(found);
    return true;
}

} // namespace

TEST_CASE("an address is a host, a colon and a port, and is printed as it is read") {
    for (const char* text : {"127.0.0.1:4000", "[::1]:0", "node.example:65535"})
        CHECK(in_words(parse_endpoint(text)) == text);
    CHECK(in_words(parse_endpoint(":4000")) == "127.0.0.1:4000");
    CHECK(parse_endpoint("[::1]:7").host == "::1");
    for (const char* wrong : {"", "here", ":", "here:", "here:65536", "here:+1", "::1:4000", "[]:1",
                              "[here]:1", "here: 1"})
        CHECK_THROWS_AS(parse_endpoint(wrong), usage_error);
}

TEST_CASE("a peer is found by its name, and one whose name takes too long costs itself only") {
    const captured_log quiet;
    if (!has_address("localhost")) { // a container without /etc/hosts
        WARN("skipped: localhost has no address here");
        return;
    }
    const given_chain all;
    const scripted_peer peer([&](raw_connection& with, int) { all.give_all(with); });
    sync_call call({"localhost:" + std::to_string(peer.port())});
    CHECK(call.run().state.state_digest == all.digest());
    sync_call slow({"localhost:" + std::to_string(peer.port())});
    slow.options.network.limits.connect = std::chrono::milliseconds(0);
    slow.options.network.attempts = 2;
    CHECK_THROWS_WITH(slow.run(), Contains("while its name was looked up"));
}

TEST_CASE("a peer that is down is spoken of once, and then once in a while") {
    const captured_log said;
    driver::peer_feed::options how;
    how.peers = {parse_endpoint("127.0.0.1:1")};
    how.pause = how.longest_pause = std::chrono::milliseconds(1);
    const bool is_a_while = GENERATE(false, true);
    if (is_a_while) how.say_again = std::chrono::milliseconds(20);
    {
        const driver::peer_feed feed(how);
        while (feed.so_far().failures < 60)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const std::string text = said.text();
    const auto lines = std::ranges::count(text, '\n');
    CHECK(lines < 60);
    CHECK((lines > 1) == is_a_while);
    CHECK((text.find("times more since") != std::string::npos) == is_a_while);
}

TEST_CASE("reading the log ends when it is to") {
    const captured_log quiet;
    const temporary_folder folder;
    const given_chain all;
    write_blocks(folder / "log", "payments", all.tree.chain_to(all.chain.back()));
    const block_log_reader log(folder / "log");
    int asked = 0;
    CHECK_THROWS_AS(driver::served_chain(log, {}, [&] { return ++asked == 10; }),
                    interrupted_error);
    CHECK(asked == 10);
    CHECK(driver::served_chain(log, {}, [] { return false; }).ids().count() == 30);
}
