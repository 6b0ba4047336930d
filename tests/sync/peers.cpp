/// The client's side with its network thread: storms of forks, and peers that exceed time limits
/// internal to the programs. tests/programs/test_driver_peers.py tests other peer faults.

#include <pool_allocator/base/error.hpp>
#include <tools/driver/live/live.hpp>

#include <catch2/catch.hpp>
#include <netdb.h>
#include <tests/sync/scripted_peer.hpp>

#include <algorithm>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using event_kind = driver::block_source::event::kind;
using std::chrono::milliseconds;

namespace {

/// Blocks at random places of a tree, some of them bad, in the order in which they came.
struct storm {
    std::uint32_t lag = *rc::gen::inRange(1u, 11u);
    payments_tree tree{lag};
    bytes frames = frame_of(tree, 1);

    storm() {
        for (const growth& how : *any_growth(70, 10, *rc::gen::inRange(1u, 7u))) {
            const bytes next = frame_of(tree, tree.add(how));
            frames.insert(frames.end(), next.begin(), next.end());
        }
        const auto end =
            driver::framed(driver::caught_up_message{tree.at(tree.head()).place, true});
        frames.insert(frames.end(), end.begin(), end.end());
    }
    void send(peer_socket& to) const {
        to.greet();
        to.send(frames);
        to.wait_for_end();
    }
};

} // namespace

TEST_CASE("storms of forks and bad blocks, over a connection, end where the model ends") {
    const captured_log quiet;
    std::uint64_t popped = 0;
    std::uint64_t rejected = 0;
    check_property_until(
        [&] { return popped > 20 && rejected > 5; }, 8, 200,
        [&] {
            const storm all;
            const scripted_peer peer([&](peer_socket& with) { all.send(with); });
            sync_call call({peer.address()});
            call.options.lag = all.lag;
            call.options.verify = true;
            const driver::sync_report report = call.run();
            RC_ASSERT(report.state.head == all.tree.at(all.tree.head()).place.number);
            RC_ASSERT(report.state.irreversible == report.state.head);
            RC_ASSERT(report.state.state_digest == all.tree.digest_at(all.tree.head()));
            RC_ASSERT(report.followed.failures == 0u);
            popped += report.followed.popped_blocks;
            rejected += report.followed.rejected_blocks;
        });
}

TEST_CASE("a node in storms of forks and bad blocks ends where the model ends") {
    const captured_log quiet;
    driver::live::pending_figures all;
    const auto reached = [&] {
        return all.returned > 20 && all.included > 20 && all.arrived > 100;
    };
    check_property_until(reached, 8, 200, [&] {
        const storm blocks;
        const scripted_peer peer([&](peer_socket& with) { blocks.send(with); });
        const temporary_folder folder(memory_or_disk());
        driver::live::live_options how;
        follow_without_waiting(how, {peer.address()}, folder / "state");
        how.lag = blocks.lag;
        how.pending = *rc::gen::inRange<std::size_t>(0, 30);
        how.shuffle =
            *rc::gen::maybe(rc::gen::just(std::uint64_t{7})) ? std::optional(7) : std::nullopt;
        how.reading.threads = *rc::gen::inRange(0u, 2u);
        const catch_interruption signals;
        const driver::live::live_report report = driver::live::live(how, signals);
        RC_ASSERT(report.head == blocks.tree.at(blocks.tree.head()).place.number);
        RC_ASSERT(report.irreversible == report.head);
        RC_ASSERT(report.state_digest == blocks.tree.digest_at(blocks.tree.head()));
        RC_ASSERT(report.sync.failures == 0u);
        RC_ASSERT(report.sync.popped_blocks > 0 || report.pending.returned == 0u);
        all.returned += report.pending.returned;
        all.included += report.pending.included;
        all.arrived += report.pending.arrived;
    });
}

TEST_CASE("a peer that is silent or too slow costs its connection; the next one's turn comes") {
    const auto [why, evil] = GENERATE(table<const char*, void (*)(peer_socket&)>(
        {{"too slow", [](peer_socket&) {}},
         {"too slow",
          [](peer_socket& with) {
              const bytes begun = {std::byte{232}, std::byte{3}, {}, {}, std::byte{3}, {}, {}, {}};
              for (const std::byte one : begun) {
                  with.send({&one, 1});
                  std::this_thread::sleep_for(milliseconds(50));
              }
          }},
         {"no blocks for",
          [](peer_socket& with) {
              for (;;) {
                  with.send(driver::framed_keepalive());
                  std::this_thread::sleep_for(milliseconds(20));
              }
          }},
         {"no new and good block", [](peer_socket& with) {
              const given_chain same; // the block that the state has already
              for (;;) {
                  same.give(with, 9, 10);
                  std::this_thread::sleep_for(milliseconds(20));
              }
          }}}));
    const captured_log quiet;
    const given_chain all;
    const scripted_peer bad([&, evil = evil](peer_socket& with) {
        all.give(with, with.greet().front().number, 10);
        evil(with);
        with.wait_for_end();
    });
    const scripted_peer good([&](peer_socket& with) { all.give_all(with); });
    sync_call call({bad.address()});
    call.options.lag = 5;
    call.options.network.attempts = 2;
    call.options.network.progress = milliseconds(150);
    call.options.network.limits.silence = milliseconds(250);
    call.options.network.limits.frame = milliseconds(250);
    CHECK_THROWS_WITH(call.run(), Contains(why) && Contains(bad.address()));
    CHECK(driver::chain_state(call.options.state, "payments", 5).head() == 10);
    call.options.peers.push_back(parse_endpoint(good.address()));
    CHECK(call.run().state.state_digest == all.digest());
}

TEST_CASE("a fault that is found when the connection has ended counts for its peer") {
    const captured_log quiet;
    const given_chain all;
    const scripted_peer peer([&](peer_socket& with) {
        with.greet();
        all.give(with, 0, 1);
    });
    driver::peer_options how;
    how.peers = {parse_endpoint(peer.address())};
    how.pause = how.longest_pause = milliseconds(1);
    how.faulty_attempts = 3;
    const auto feed = driver::make_peer_feed(how);
    const auto take = [&] {
        for (int faults = 0; faults < 6;) {
            const auto next = feed->next(milliseconds(100));
            if (next.what == event_kind::asks) feed->resume({{}});
            if (next.what != event_kind::blocks) continue;
            while (feed->so_far().failures <= static_cast<std::uint64_t>(faults))
                std::this_thread::sleep_for(milliseconds(1));
            feed->refuse(next.sender, driver::peer_error::severity::fault, "a fault");
            ++faults;
        }
    };
    CHECK_THROWS_WITH(take(), Contains("a fault") && Contains("No peer is left"));
    CHECK(peer.connections() <= 4);
}

TEST_CASE("a peer that is down is spoken of once, and then once in a while") {
    const captured_log said;
    driver::peer_options how;
    how.peers = {parse_endpoint("127.0.0.1:1")};
    how.pause = how.longest_pause = milliseconds(1);
    const bool is_a_while = GENERATE(false, true);
    if (is_a_while) how.say_again = milliseconds(10);
    {
        const auto feed = driver::make_peer_feed(how);
        while (feed->so_far().failures < 60)
            std::this_thread::sleep_for(milliseconds(1));
    }
    const std::string text = said.text();
    const auto lines = std::ranges::count(text, '\n');
    CHECK(lines < 60);
    CHECK((lines > 2) == is_a_while); // one at the end tells how many were left out
    CHECK(text.find("were left out") != std::string::npos);
}

TEST_CASE("a name that takes too long to look up costs its peer only") {
    addrinfo* found = nullptr;
    if (getaddrinfo("localhost", nullptr, nullptr, &found) != 0) { // without /etc/hosts
        WARN("skipped: localhost has no address here");
        return;
    }
    freeaddrinfo(found);
    const captured_log quiet;
    const given_chain all;
    const scripted_peer peer([&](peer_socket& with) { all.give_all(with); });
    sync_call call({"localhost:" + std::to_string(peer.port())});
    CHECK(call.run().state.state_digest == all.digest());
    sync_call slow({"localhost:" + std::to_string(peer.port())});
    slow.options.network.limits.connect = milliseconds(0);
    slow.options.network.attempts = 2;
    CHECK_THROWS_WITH(slow.run(), Contains("while its name was looked up"));
}

TEST_CASE("an address is a host, a colon and a port, and is printed as it is read") {
    for (const char* text : {"127.0.0.1:4000", "[::1]:0", "node.example:65535"})
        CHECK(in_words(parse_endpoint(text)) == text);
    CHECK(in_words(parse_endpoint(":4000")) == "127.0.0.1:4000");
    CHECK(parse_endpoint("[::1]:7").host == "::1");
    for (const char* wrong : {"", "here", ":", "here:", "here:65536", "here:+1", "::1:4000", "[]:1",
                              "[here]:1", "here: 1"})
        CHECK_THROWS_AS(parse_endpoint(wrong), usage_error);
}
