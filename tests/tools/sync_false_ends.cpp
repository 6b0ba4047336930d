#include <catch2/catch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/sync_support.hpp>

/// A sync is done when it has the blocks, not when a peer says so.
using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

namespace {

/// A peer that says and gives what `script` does, alone, then before one that gives the whole
/// chain.
struct liar {
    captured_log quiet;
    given_chain all;
    sync_call call{{}};

    liar() {
        call.options.lag = 5;
        call.options.network.attempts = 2;
    }
    void tell(const scripted_peer::script& script, const char* why, std::uint64_t head) {
        const scripted_peer bad(script);
        const scripted_peer good([&](raw_connection& with, int) { all.give_all(with); });
        call.options.peers = {parse_endpoint(bad.address())};
        CHECK_THROWS_WITH(call.run(), Contains(why) && Contains(bad.address()));
        {
            const driver::chain_state left(call.options.state, "payments", 5);
            CHECK(left.head() == head);
            CHECK(left.irreversible() == (head < 5 ? 0 : head - 5)); // nothing was made final
        }
        call.options.peers.push_back(parse_endpoint(good.address()));
        CHECK(call.run().state.head == call.options.stop_at.value_or(30));
    }
};

} // namespace

TEST_CASE("a peer that says that its chain ends early") {
    liar story;
    const given_chain& all = story.all;
    SECTION("with nothing") {
        story.tell(
            [](raw_connection& with, int) {
                with.greet("payments");
                with.send(end_at({}));
                with.wait_for_end();
            },
            "has no blocks", 0);
    }
    SECTION("before the state's head") {
        story.tell(
            [&](raw_connection& with, int) {
                const auto known = with.greet("payments");
                all.give(with, known.front().number, 10);
                with.send(end_at(all.place(8)));
                with.wait_for_end();
            },
            "the state has as many blocks or more, up to block 10 ", 10);
    }
    SECTION("below all that the state can go back to") {
        story.tell(
            [&](raw_connection& with, int) {
                const auto known = with.greet("payments");
                all.give(with, known.front().number, 10);
                with.send(end_at({1, {3, 4}}));
                with.wait_for_end();
            },
            "the state has as many blocks or more", 10);
    }
    SECTION("before what it said first") {
        story.tell(
            [&](raw_connection& with, int) {
                const auto known = with.greet("payments", all.place(29));
                all.give(with, known.front().number, 10);
                with.send(end_at(all.place(9)));
                with.wait_for_end();
            },
            "said before that it has block 30 ", 10);
    }
}

TEST_CASE("a peer with a block beyond the one to stop at, which follows nothing") {
    liar story;
    story.call.options.stop_at = 20;
    random_source random(3);
    payments_tree other(5);
    const std::size_t invented = other.add(1, random);
    block far = other.at(other.add(invented, random)).value;
    far.number = 2000;
    driver::blocks_builder frame({3, {1, 2}});
    frame.add(encode_block(far));
    const bytes sent = frame.finish();
    story.tell(
        [&](raw_connection& with, int) {
            with.greet("payments");
            with.send(sent);
            with.wait_for_end();
        },
        "which nobody has sent", 0);
}

TEST_CASE("a side branch that reaches beyond the block to stop at does not end a sync before it") {
    const captured_log quiet;
    given_chain all;
    random_source random(5);
    block far = all.tree.at(all.tree.add(all.chain[7], random)).value;
    far.number = 500;
    driver::blocks_builder side(all.place(7));
    side.add(encode_block(far));
    far.number = 501;
    side.add(encode_block(far));
    const bytes sent = side.finish();
    const scripted_peer peer([&](raw_connection& with, int) {
        with.greet("payments");
        all.give(with, 0, 10);
        with.send(sent);
        all.give(with, 10, all.chain.size());
        with.wait_for_end();
    });
    sync_call call({peer.address()});
    call.options.lag = 5;
    call.options.stop_at = 20;
    const driver::sync_report report = call.run();
    CHECK(report.state.head == 20);
    CHECK(report.state.state_digest == all.tree.digest_at(all.chain[19]));
    CHECK(report.followed.source.failures == 0);
}

TEST_CASE(
    "the block to stop at may be missing in a chain, and then the one before it is the last") {
    const captured_log quiet;
    given_chain all(10);
    block next = all.tree.at(all.chain[9]).value;
    next.number = 12;
    const scripted_peer peer([&](raw_connection& with, int) {
        const auto known = with.greet("payments");
        all.give(with, known.front().number, 10);
        driver::blocks_builder frame(all.place(9));
        frame.add(encode_block(next));
        with.send(frame.finish());
        with.wait_for_end();
    });
    sync_call call({peer.address()});
    call.options.stop_at = 11;
    CHECK(call.run().state.head == 10);
    CHECK(call.run().state.head == 10);
}
