/// The server's side: clients that exceed time limits internal to the program, and frames of any
/// size. tests/programs/test_driver_peers.py tests other client faults.

#include <catch2/catch.hpp>
#include <tests/sync/scripted_peer.hpp>

#include <csignal>

using namespace chainbase;
using namespace chainbase::test;
using std::chrono::milliseconds;

namespace {

struct small_log {
    captured_log quiet;
    temporary_folder folder;
    given_chain all{41};

    small_log() { all.write_log(folder / "log"); }
    void serves_others(const served& server) const {
        CHECK(sync_call({server.address()}).run().state.state_digest == all.digest());
    }
};

} // namespace

TEST_CASE("clients that say nothing, take nothing or talk on are hung up on in time") {
    const small_log story;
    driver::block_server::options how;
    how.hello_limit = how.request_limit = how.write_limit = milliseconds(200);
    const served server(story.folder / "log", how);
    const auto silent = peer_socket::to(server.port());
    const auto half = peer_socket::to(server.port());
    half.send(bytes(7));
    const auto talks = peer_socket::to(server.port());
    talks.say_hello();
    talks.ask_for_all();
    talks.send(driver::framed_keepalive());
    silent.wait_for_end();
    half.wait_for_end();
    talks.wait_for_end();
    story.serves_others(server);
}

TEST_CASE("clients that say nothing do not keep others out, from one address or from many") {
    const small_log story;
    const bool is_one_address = GENERATE(true, false);
    driver::block_server::options how;
    how.hello_limit = std::chrono::hours(1);
    const served server(story.folder / "log", how);
    std::vector<raw_connection> silent;
    for (unsigned i = 0; i < 200; ++i)
        silent.push_back(raw_connection::to(server.port(), is_one_address ? 1 : 2 + i % 20));
    story.serves_others(server);
}

TEST_CASE("a client that reads nothing is hung up on, whatever it was sent") {
    const captured_log quiet;
    const temporary_folder folder;
    block large{1, 0, {}}; // more than sockets hold
    for (int i = 0; i < 2; ++i)
        large.transactions.push_back({{bytes(7 << 20)}});
    write_blocks(folder / "log", "payments", {large, {2, 0, large.transactions}});
    driver::block_server::options how;
    how.write_limit = milliseconds(200);
    const served server(folder / "log", how);
    const auto lazy = peer_socket::to(server.port());
    lazy.say_hello();
    lazy.ask_for_all();
    std::this_thread::sleep_for(milliseconds(600));
    CHECK_THROWS(([&] {
        for (;;)
            static_cast<void>(lazy.receive());
    }()));
}

TEST_CASE("a client has longer to ask than to say who it is") {
    const small_log story;
    driver::block_server::options how;
    how.hello_limit = milliseconds(50);
    const served server(story.folder / "log", how);
    const auto busy = peer_socket::to(server.port());
    busy.say_hello();
    static_cast<void>(busy.receive());
    std::this_thread::sleep_for(milliseconds(200));
    busy.ask_for_all();
    CHECK(busy.receive().type == driver::wire::message::blocks);
}

TEST_CASE("with losing branches, bad ones too, a served log leads to the digest of its replay") {
    const captured_log quiet;
    const bool overlap = GENERATE(false, true);
    check_property(3, 100, [&] {
        constexpr std::size_t lag = 8;
        payments_tree tree(1000);
        const std::vector<std::size_t> chain = tree.grow(1, 250);
        std::vector<driver::losing_branch> branches;
        std::uint64_t popped = 0;
        for (std::size_t fork = 3; fork + lag + 1 < chain.size(); // the longest branch loses, too
             fork += *rc::gen::inRange<std::size_t>(1, 10)) {
            driver::losing_branch one{tree.at(chain[fork]).place.number, {}};
            const auto length = *rc::gen::inRange<std::size_t>(1, lag + 1);
            const bool is_bad = *rc::gen::weightedElement<bool>({{7, false}, {3, true}});
            for (std::size_t at = chain[fork]; one.blocks.size() < length;) {
                at = tree.add(at, is_bad && one.blocks.size() + 1 == length);
                one.blocks.push_back(encode_block(tree.at(at).value));
            }
            popped += length - (is_bad ? 1 : 0);
            if (!overlap) fork += length; // the chain overtakes each before the next
            branches.push_back(std::move(one));
        }
        const temporary_folder folder(memory_or_disk());
        write_blocks(folder / "log", "payments", tree.chain_to(chain.back()));
        driver::block_server::options small;
        small.frame_bytes = *rc::gen::inRange<std::size_t>(100, 1000);
        const served server(folder / "log", small, branches);
        sync_call call({server.address()});
        call.options.lag = lag;
        call.options.verify = true;
        const driver::sync_report report = call.run();
        RC_ASSERT(report.state.state_digest == tree.digest_at(chain.back()));
        RC_ASSERT(report.followed.popped_blocks > 0u);
        RC_ASSERT(overlap || report.followed.popped_blocks == popped);
        RC_ASSERT(report.followed.connections == 1u);
    });
}

TEST_CASE("reading the log ends when it is to") {
    const small_log story;
    const block_log_reader log(story.folder / "log");
    {
        const catch_interruption signals;
        std::raise(SIGINT);
        CHECK_THROWS_AS(driver::served_chain(log), interrupted_error);
    }
    const catch_interruption others; // which none came for
    CHECK(driver::served_chain(log).ids().count() == 41);
}
