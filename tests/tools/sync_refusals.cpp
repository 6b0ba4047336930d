#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/sync_support.hpp>

/// What one connection did is not charged to another, and what it did is not forgotten when it
/// ends.
using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using event_kind = driver::block_source::event::kind;

TEST_CASE("a peer that fills the tree beside its own branch and hangs up does not harm the next") {
    const captured_log quiet;
    given_chain all;
    random_source random(11);
    payments_tree private_branch = all.tree;
    std::vector<bytes> frames{frame_of(all.tree, 1)};
    for (std::size_t at = 1, i = 0; i < 3; ++i) {
        at = private_branch.add(at, random);
        frames.push_back(frame_of(private_branch, at));
    }
    const driver::fork_tree::limits limits;
    for (std::size_t i = 0; i < limits.blocks; ++i) {
        block one = private_branch.at(2).value;
        one.timestamp = static_cast<std::int64_t>(i);
        driver::blocks_builder frame(all.place(0));
        frame.add(encode_block(one));
        frames.push_back(frame.finish());
    }
    const scripted_peer hostile([&](raw_connection& with, int) {
        with.greet("payments");
        for (const bytes& one : frames)
            with.send(one);
    });
    const scripted_peer honest([&](raw_connection& with, int) { all.give_all(with); });
    sync_call call({hostile.address(), honest.address()});
    call.options.lag = 5;
    const driver::sync_report report = call.run();
    CHECK(report.state.state_digest == all.digest());
    CHECK(honest.connections() == 1);
    CHECK(report.followed.source.failures == 1);
}

TEST_CASE("a bad branch whose good part is as long as what an earlier run had costs that nothing") {
    const captured_log quiet;
    given_chain all(8);
    random_source random(5);
    std::vector<std::size_t> branch{all.chain[2]};
    for (int i = 0; i < 4; ++i)
        branch.push_back(all.tree.add(branch.back(), random, i == 3));
    const scripted_peer peer([&](raw_connection& with, int connection) {
        if (connection != 1) return all.give_all(with);
        with.greet("payments");
        for (std::size_t i = 1; i < branch.size(); ++i)
            with.send(frame_of(all.tree, branch[i]));
        with.send(end_at(all.tree.at(branch[3]).place));
        with.wait_for_end();
    });
    sync_call call({peer.address()});
    call.options.lag = 5;
    call.options.stop_at = 6;
    CHECK(call.run().state.head == 6);
    call.options.stop_at.reset();
    const driver::sync_report second = call.run();
    CHECK(second.followed.chain.rejected == 1);
    CHECK(second.followed.chain.popped >= 3);
    CHECK(second.followed.source.failures == 1);
    CHECK(second.state.state_digest == all.digest());
}

TEST_CASE("a fault that is found when the connection has ended counts for its peer") {
    const captured_log quiet;
    const given_chain all;
    const scripted_peer peer([&](raw_connection& with, int) {
        with.greet("payments");
        all.give(with, 0, 1);
    });
    driver::peer_feed::options how;
    how.peers = {parse_endpoint(peer.address())};
    how.pause = how.longest_pause = std::chrono::milliseconds(1);
    how.faulty_attempts = 3;
    driver::peer_feed feed(how);
    const auto take = [&] {
        for (int faults = 0; faults < 6;) {
            const auto next = feed.next(std::chrono::milliseconds(100));
            if (next.what == event_kind::asks) feed.resume({{}});
            if (next.what != event_kind::blocks) continue;
            while (feed.so_far().failures <= static_cast<std::uint64_t>(faults))
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            feed.refuse(next.sender, driver::peer_error::severity::fault, "a fault");
            ++faults;
        }
    };
    CHECK_THROWS_WITH(take(), Contains("a fault") && Contains("No peer is left"));
    CHECK(peer.connections() <= 4);
}

TEST_CASE("a peer of another chain costs itself, when it is known which chain is meant") {
    const captured_log quiet;
    const given_chain all;
    const std::string other = GENERATE("steem-2016", "nothing");
    const scripted_peer wrong([&](raw_connection& with, int) {
        static_cast<void>(with.receive());
        with.send(driver::framed(driver::hello_message{other, {}, {}}));
        with.wait_for_end();
    });
    const scripted_peer right([&](raw_connection& with, int) { all.give_all(with); });
    sync_call call({wrong.address(), right.address()});
    SECTION("since there is a state") {
        driver::chain_state(call.options.state, "payments", 0).apply(all.tree.at(1).value);
    }
    SECTION("since it was said") {
        call.options.chain = "payments";
    }
    if (other == "nothing") {
        SECTION("since nobody here knows the first one") {}
    }
    const driver::sync_report report = call.run();
    CHECK(report.state.state_digest == all.digest());
    CHECK(wrong.connections() == 1);
    CHECK(right.connections() == 1);
}

TEST_CASE("no state is made for a chain that is not known") {
    const captured_log quiet;
    sync_call call({"127.0.0.1:1"});
    call.options.chain = "nothing";
    CHECK_THROWS_AS(call.run(), usage_error);
    CHECK_FALSE(std::filesystem::exists(call.options.state));
}
