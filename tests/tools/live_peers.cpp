#include <tools/driver/live/live.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/server_process.hpp>
#include <tests/tools/sync_support.hpp>

/// A node that follows peers, with pending transactions and readers, comes to the state of sync and
/// replay; what was in a block that is popped is pending again.
using namespace chainbase;
using namespace chainbase::test;

namespace {

driver::live::live_options impatient(const std::string& peer, const temporary_folder& folder) {
    driver::live::live_options how;
    follow_impatiently(how, {peer}, folder / "state");
    return how;
}

} // namespace

TEST_CASE("a node in storms of forks and bad blocks ends where the model ends") {
    const captured_log quiet;
    const std::uint64_t seed = new_seed();
    INFO("CHAINBASE_TEST_SEED=" << seed);
    random_source random(seed);
    driver::live::live_figures all;
    for (int round = 0; round < 6; ++round) {
        const std::uint32_t lag = 1 + random.below(10);
        const storm blocks(random, lag, 1 + static_cast<std::size_t>(round));
        const payments_tree& tree = blocks.tree;
        const scripted_peer peer([&](raw_connection& with, int) { blocks.send(with); });
        const temporary_folder folder;
        driver::live::live_options how = impatient(peer.address(), folder);
        how.lag = lag;
        how.pending = random.below(30);
        if (random.chance(500)) how.shuffle = random.below(1000);
        how.reading.threads = round % 2;
        const catch_interruption signals;
        const driver::live::live_report report = driver::live::live(how, signals);
        CHECK(report.head == tree.at(tree.head()).place.number);
        CHECK(report.irreversible == report.head);
        CHECK(report.state_digest == tree.digest_at(tree.head()));
        CHECK(report.followed.source.failures == 0);
        if (report.followed.chain.popped == 0) CHECK(report.node.returned == 0);
        all.returned += report.node.returned;
        all.included += report.node.included;
        all.arrived += report.node.arrived;
    }
    if (!is_usual_run()) return;
    CHECK(all.returned > 20);
    CHECK(all.included > 20);
    CHECK(all.arrived > 100);
}

TEST_CASE("payments of a losing branch are pending until the winning one has them") {
    const captured_log quiet;
    random_source random(3);
    payments_tree tree(10);
    std::size_t common = tree.add(1, random);
    const std::size_t losing = tree.add(common, random);
    block same = tree.at(losing).value; // with all that the losing one has, in another block
    same.timestamp += 1;
    const std::size_t winning = tree.add_copy(common, same);
    const std::size_t last = tree.add(winning, random);
    const scripted_peer peer([&](raw_connection& with, int) {
        with.greet("payments");
        for (const std::size_t one : {std::size_t{1}, common, losing, winning, last})
            with.send(frame_of(tree, one));
        with.send(end_at(tree.at(last).place));
        with.wait_for_end();
    });
    const temporary_folder folder;
    driver::live::live_options how = impatient(peer.address(), folder);
    how.pending = 0;
    const catch_interruption signals;
    const driver::live::live_report report = driver::live::live(how, signals);
    CHECK(report.state_digest == tree.digest_at(last));
    CHECK(report.followed.chain.switches == 1);
    CHECK(report.node.returned == same.transactions.size());
    CHECK(report.node.included == same.transactions.size());
    CHECK(report.node.forgotten == 0);
}

TEST_CASE("a node that follows a peer is killed, and comes to the state of replay") {
    const temporary_folder folder;
    const std::string log = folder / "log";
    const std::uint64_t seed = test_seed(29);
    INFO("CHAINBASE_TEST_SEED=" << seed);
    random_source random(seed);
    const driver_run made = run_driver({"generate", "--operations", "30000", "--accounts", "500",
                                        "--seed", std::to_string(seed), "--to", log, "--forks",
                                        "20", "--fork-depth", "8", "--bad-forks", "30"});
    INFO(made.err);
    REQUIRE(made.code() == 0);
    const auto replayed =
        run_driver({"replay", "--block-log", log, "--state", folder / "replayed", "--json"}).json();
    server_process server(log, {"--forks", log + ".forks"});
    const std::vector<std::string> call{
        "live",      "--peer", server.address(), "--state", folder / "live", "--pending", "200",
        "--readers", "1",      "--once",         "--json"};
    for (int i = 0; i < 4; ++i) {
        driver_process process(call);
        std::this_thread::sleep_for(std::chrono::milliseconds(20 + random.below(200)));
        process.send(i % 2 == 0 ? SIGKILL : SIGTERM);
        static_cast<void>(process.wait());
    }
    const driver_run run = run_driver(call);
    INFO(run.err);
    REQUIRE(run.code() == 0);
    CHECK(run.json()["state_digest"] == replayed["state_digest"]);
    CHECK(run.json()["head"] == replayed["head"]);
}
