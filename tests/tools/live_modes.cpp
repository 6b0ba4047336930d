#include <catch2/catch.hpp>
#include <tests/support/random_source.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/real_logs.hpp>

#include <chrono>
#include <thread>

/// The driver's process as a node over logs that the project carries: it comes to replay's state.
using namespace chainbase::test;
using nlohmann::json;

namespace {

std::vector<std::string> with(std::vector<std::string> call, const std::vector<std::string>& more) {
    call.insert(call.end(), more.begin(), more.end());
    return call;
}

std::vector<std::string> live(const real_log& log, const std::vector<std::string>& more,
                              const std::string& name = "live") {
    return with(
        {"live", "--block-log", log.path().string(), "--state", log.state(name).string(), "--json"},
        more);
}

/// Enough of the log for everything to happen in it, and little enough to be quick.
std::vector<std::string> part_of(const real_log& log) {
    return {"--stop-at", log.chain() == "steem-2016" ? "20000" : "270500000"};
}

std::string digest_of_replay(const real_log& log) {
    const driver_run run = run_driver(log.replay(part_of(log)));
    REQUIRE(run.code() == 0);
    return run.json()["state_digest"];
}

} // namespace

TEST_CASE("live comes to the state of replay, whatever arrives before its block") {
    const std::string chain = GENERATE("steem-2016", "eos-swap-2022");
    const real_log log(chain);
    const std::string digest = digest_of_replay(log);
    const std::vector<std::vector<std::string>> ways{
        {"--pending", "0"},
        {"--pending", "30", "--readers", "2"},
        {"--pending", "30", "--shuffle", "7", "--batch", "1"},
        {"--pending", "200", "--budget-ms", "0"},
        {"--pending", "30", "--lag", "0"}};
    for (std::size_t i = 0; i < ways.size(); ++i) {
        const driver_run run =
            run_driver(live(log, with(part_of(log), ways[i]), "live" + std::to_string(i)));
        INFO(run.err);
        REQUIRE(run.code() == 0);
        const json said = run.json();
        CHECK(said["state_digest"] == digest);
        CHECK_FALSE(said["interrupted"].get<bool>());
        if (i == 0) CHECK(said["pending"]["arrived"] == 0);
        if (i == 1) CHECK(said["pending"]["applied"] > 0);
        if (i == 1 && chain == "steem-2016") CHECK(said["pending"]["included"] > 0);
        if (i == 2 && chain == "steem-2016") CHECK(said["pending"]["rejected"] > 0);
        if (i == 3) CHECK(said["pending"]["applied"] == 0);
    }
}

TEST_CASE("a node that is killed, or interrupted, goes on to the same state") {
    const int signal = GENERATE(SIGKILL, SIGTERM);
    const std::uint64_t seed = test_seed(13);
    INFO("CHAINBASE_TEST_SEED=" << seed);
    random_source random(seed);
    const real_log log("steem-2016");
    const std::string digest = digest_of_replay(log);
    const auto call = live(log, with(part_of(log), {"--pending", "50"}));
    std::uint64_t head = 0;
    for (int i = 0; i < 6; ++i) {
        driver_process process(call);
        std::this_thread::sleep_for(std::chrono::milliseconds(20 + random.below(120)));
        process.send(signal);
        const driver_run run = process.wait();
        if (run.was_killed()) continue;
        INFO(run.err);
        REQUIRE((run.code() == 3 || run.code() == 0 || WIFSIGNALED(run.status)));
        if (run.code() != 3) continue; // done, or not yet listening to signals
        CHECK(run.json()["head"] >= head);
        head = run.json()["head"];
    }
    const driver_run run = run_driver(call);
    INFO(run.err);
    REQUIRE(run.code() == 0);
    CHECK(run.json()["state_digest"] == digest);
    CHECK(run.json()["head"] == 20000);
}

TEST_CASE("replay and live go on with each other's state") {
    const real_log log("eos-swap-2022");
    REQUIRE(run_driver(live(log, with(part_of(log), {"--pending", "10"}), "both")).code() == 0);
    const driver_run run = run_driver(log.replay({"--verify"}, "both"));
    REQUIRE(run.code() == 0);
    CHECK(run.json()["state_digest"] == digest_at_end("eos-swap-2022"));
}

TEST_CASE("a node refuses a state beyond the block to stop at, and one of another log") {
    const real_log log("eos-swap-2022"), other("steem-2016");
    REQUIRE(run_driver(live(log, part_of(log))).code() == 0);
    const driver_run beyond = run_driver(live(log, {"--stop-at", "1"}));
    CHECK(beyond.code() == 2);
    CHECK(beyond.says("to stop at"));
    const driver_run foreign = run_driver(
        {"live", "--block-log", other.path().string(), "--state", log.state("live").string()});
    CHECK(foreign.code() == 2);
    CHECK(foreign.says("of the chain"));
}
