#include <catch2/catch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/real_logs.hpp>
#include <tests/tools/sync_support.hpp>

/// sync ends at the state that a replay of the longest branch ends at, whatever came before it.
using namespace chainbase;
using namespace chainbase::test;

TEST_CASE("storms of forks and bad blocks, over a connection, end where the model ends") {
    const captured_log quiet;
    const std::uint64_t seed = new_seed();
    INFO("CHAINBASE_TEST_SEED=" << seed);
    random_source random(seed);
    std::uint64_t popped = 0;
    std::uint64_t rejected = 0;
    for (int round = 0; round < 6; ++round) {
        const std::uint32_t lag = 1 + random.below(10);
        const storm blocks(random, lag, 1 + static_cast<std::size_t>(round));
        const payments_tree& tree = blocks.tree;
        const scripted_peer peer([&](raw_connection& with, int) { blocks.send(with); });
        sync_call call({peer.address()});
        call.options.lag = lag;
        call.options.verify = true;
        const driver::sync_report report = call.run();
        CHECK(report.state.head == tree.at(tree.head()).place.number);
        CHECK(report.state.irreversible == report.state.head);
        CHECK(report.state.state_digest == tree.digest_at(tree.head()));
        CHECK(report.followed.source.failures == 0);
        popped += report.followed.chain.popped;
        rejected += report.followed.chain.rejected;
    }
    if (is_usual_run()) CHECK(popped > 20);
    if (is_usual_run()) CHECK(rejected > 5);
}

TEST_CASE("with losing branches, bad ones too, a served log leads to the digest of its replay") {
    const captured_log quiet;
    const std::uint64_t seed = new_seed();
    INFO("CHAINBASE_TEST_SEED=" << seed);
    random_source random(seed);
    const bool overlap = GENERATE(false, true);
    constexpr std::size_t lag = 8;
    payments_tree tree(1000);
    std::vector<std::size_t> chain{1};
    while (chain.size() < 300)
        chain.push_back(tree.add(chain.back(), random));
    const std::vector<block> blocks = tree.chain_to(chain.back());
    std::vector<driver::losing_branch> branches;
    std::uint64_t popped = 0;
    for (std::size_t fork = 3; fork + lag < chain.size(); fork += 1 + random.below(9)) {
        driver::losing_branch one{tree.at(chain[fork]).place.number, {}};
        std::size_t at = chain[fork];
        const bool is_bad = random.chance(300);
        for (std::uint32_t left = 1 + random.below(lag); left > 0; --left) {
            const bool ends_badly = is_bad && left == 1;
            at = tree.add(at, random, ends_badly);
            one.blocks.push_back(encode_block(tree.at(at).value));
            if (!ends_badly) ++popped;
        }
        if (!overlap) fork += one.blocks.size(); // the chain overtakes each before the next
        branches.push_back(std::move(one));
    }
    const temporary_folder folder;
    write_blocks(folder / "log", "payments", blocks);
    driver::block_server::options small;
    small.frame_bytes = 300;
    const served server(folder / "log", branches, small);
    sync_call call({server.address()});
    call.options.lag = lag;
    call.options.verify = true;
    const driver::sync_report report = call.run();
    CHECK(report.state.state_digest == tree.digest_at(chain.back()));
    if (!overlap) CHECK(report.followed.chain.popped == popped);
    CHECK(report.followed.chain.popped > 0);
    CHECK(report.followed.source.connections == 1);
}

TEST_CASE("the carried logs: the same digest as replay's, also when cut at every k-th frame") {
    const captured_log quiet;
    const std::string chain = GENERATE("steem-2016", "eos-swap-2022");
    const int each = GENERATE(0, 3);
    if ((chain == "steem-2016" || each == 0) && !is_usual_run()) return; // long under sanitizers
    const real_log log(chain);
    const driver::served_chain has{block_log_reader(log.path())};
    const scripted_peer peer([&](raw_connection& with, int) {
        const auto known = with.greet(chain);
        driver::served_chain::cursor blocks(has, *has.common({known}));
        for (int sent = 0; each == 0 || sent < each; ++sent) {
            const auto next = blocks.next_frame(std::size_t{1} << 20, has.ids().count());
            if (!next) {
                with.send(end_at(has.head(has.ids().count())));
                return with.wait_for_end();
            }
            with.send(*next);
        }
        bytes half = driver::framed_keepalive();
        half.resize(half.size() / 2);
        with.send(half);
    });
    sync_call call({peer.address()});
    const driver::sync_report report = call.run();
    CHECK(report.state.state_digest == digest_at_end(chain));
    CHECK((report.followed.source.failures > 0) == (each != 0));
    CHECK(report.followed.chain.useless == 0);
}

TEST_CASE("a fork that overtakes after a restart is followed; blocks of a bad one come again") {
    const captured_log quiet;
    random_source random(5);
    const bool is_bad = GENERATE(false, true);
    payments_tree tree(10);
    std::vector<std::size_t> chain{1};
    while (chain.size() < 6)
        chain.push_back(tree.add(chain.back(), random));
    std::vector<std::size_t> branch{chain[2]};
    for (int i = 0; i < 5; ++i)
        branch.push_back(tree.add(branch.back(), random, is_bad && i == 2));
    const scripted_peer peer([&](raw_connection& with, int connection) {
        with.greet("payments");
        if (connection == 0 || (is_bad && connection == 2)) {
            for (const std::size_t one : chain)
                if (connection == 0 || tree.at(one).place.number > 3)
                    with.send(frame_of(tree, one));
            with.send(end_at(tree.at(chain.back()).place, connection != 0));
        } else {
            for (std::size_t i = 1; i < branch.size(); ++i)
                with.send(frame_of(tree, branch[i]));
            with.send(end_at(tree.at(branch.back()).place, !is_bad));
        }
        with.wait_for_end();
    });
    sync_call call({peer.address()});
    call.options.lag = 10;
    call.options.stop_at = tree.at(chain.back()).place.number;
    CHECK(call.run().state.head == 6);
    call.options.stop_at.reset();
    const driver::sync_report second = call.run();
    CHECK(second.followed.chain.popped >= 3);
    CHECK(second.followed.chain.rejected == (is_bad ? 1 : 0));
    CHECK(second.state.state_digest == tree.digest_at(is_bad ? chain.back() : branch.back()));
}
