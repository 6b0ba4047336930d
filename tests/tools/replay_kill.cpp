#include <catch2/catch.hpp>
#include <tests/support/random_source.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/real_logs.hpp>

#include <chrono>
#include <thread>

/// The driver's process is stopped again and again, politely or not, and goes on to the same state.
using namespace chainbase::test;
using nlohmann::json;

namespace {

using clock = std::chrono::steady_clock;

/// How long a replay takes that nobody disturbs, at the moment and on this machine.
std::chrono::microseconds duration_of(const real_log& log) {
    const auto begin = clock::now();
    REQUIRE(run_driver(log.replay({}, "undisturbed")).code() == 0);
    return std::chrono::duration_cast<std::chrono::microseconds>(clock::now() - begin);
}

/// Runs replays of `log` with --verify and `more`, each ended by `signal` at a random moment, until
/// `enough` were ended so and one came to the end. Calls look(run) for each that was ended.
template <typename Look>
void interrupt_again_and_again(const real_log& log, int signal, int enough, Look look,
                               std::vector<std::string> more = {}) {
    more.push_back("--verify");
    const std::uint64_t seed = test_seed(9);
    random_source random(seed);
    const auto longest = static_cast<std::uint32_t>(duration_of(log).count());
    std::string state = "state";
    for (int ended = 0;;) {
        driver_process process(log.replay(more, state));
        std::this_thread::sleep_for(std::chrono::microseconds(random.below(longest)));
        process.send(signal);
        const driver_run run = process.wait();
        INFO("CHAINBASE_TEST_SEED=" << seed << ", stderr: " << run.err);
        if (run.code() != 0) {
            ++ended;
            look(run);
            continue;
        }
        CHECK(run.json()["state_digest"] == digest_at_end(log.chain()));
        if (const json root = run.json()["state_root"]; !root.is_null()) {
            CHECK(root["root"] == root_at_end(log.chain()));
            CHECK(root["recomputed"] == true);
        }
        if (ended >= enough) return;
        state += "."; // too few yet: once more from the begin
    }
}

} // namespace

TEST_CASE("killed with SIGKILL at random times, a replay goes on to the same state") {
    const std::string chain = GENERATE("steem-2016", "eos-swap-2022");
    const real_log log(chain);
    interrupt_again_and_again(log, SIGKILL, 20,
                              [](const driver_run& run) { REQUIRE(run.was_killed()); });
}

TEST_CASE("killed at random times, a replay with any archive goes on to the same state") {
    const std::string archive = GENERATE("memory", "none");
    const real_log log("steem-2016");
    interrupt_again_and_again(log, SIGKILL, 8,
                              [](const driver_run& run) { REQUIRE(run.was_killed()); },
                              {"--archive", archive});
}

TEST_CASE("killed at random times, a replay goes on to the same root") {
    const std::string chain = GENERATE("steem-2016", "eos-swap-2022");
    const real_log log(chain);
    interrupt_again_and_again(log, SIGKILL, 8,
                              [](const driver_run& run) { REQUIRE(run.was_killed()); },
                              {"--state-root", "all", "--verify-roots"});
}

TEST_CASE("interrupted with SIGINT or SIGTERM, a replay closes cleanly and goes on") {
    const std::string chain = GENERATE("steem-2016", "eos-swap-2022");
    const int signal = GENERATE(SIGINT, SIGTERM);
    const real_log log(chain);
    std::uint64_t head = 0;
    interrupt_again_and_again(log, signal, 4, [&](const driver_run& run) {
        if (WIFSIGNALED(run.status)) return; // before it began to listen
        REQUIRE(run.code() == 3);
        const json said = run.json();
        CHECK(said["interrupted"].get<bool>());
        CHECK_FALSE(run.says("rolled back"));
        if (said["blocks"] != said["replayed_blocks"]) CHECK(said["head"] >= head);
        head = said["head"];
    });
}

TEST_CASE("after losses of power a replay goes on from what was promised to the same state") {
    const std::string chain = GENERATE("steem-2016", "eos-swap-2022");
    const std::string durability = GENERATE("checkpoint", "commit");
    const real_log log(chain);
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    random_source random(seed);
    const auto longest = static_cast<std::uint32_t>(duration_of(log).count());
    const std::vector<std::string> often{
        "--verify", "--checkpoint-interval", "0.02", "--durability",
        durability, "--state-root",          "all",  "--verify-roots"};
    int restored = 0;
    for (int losses = 0; restored < 3 && losses < 60; ++losses) {
        driver_process process(log.replay(often));
        std::this_thread::sleep_for(std::chrono::microseconds(random.below(longest)));
        process.send(SIGKILL);
        const driver_run run = process.wait();
        INFO("stderr: " << run.err);
        REQUIRE((run.was_killed() || run.code() == 0));
        if (run.says("restored checkpoint")) ++restored;
        if (run.code() == 0) // too late: once more from the begin
            std::filesystem::remove_all(log.state());
        else if (std::filesystem::exists(log.state() / "checkpoint" / "published.0"))
            std::filesystem::remove_all(log.state() / "segment"); // as memory is
    }
    const driver_run last = run_driver(log.replay(often));
    INFO("stderr: " << last.err);
    REQUIRE(last.code() == 0);
    CHECK(last.json()["state_digest"] == digest_at_end(log.chain()));
    CHECK(last.json()["state_root"]["root"] == root_at_end(log.chain()));
    CHECK(restored == 3);
}

TEST_CASE("several signals at once are one") {
    const real_log log("steem-2016");
    const auto half = duration_of(log) / 2;
    driver_process process(log.replay());
    std::this_thread::sleep_for(half);
    for (int i = 0; i < 5; ++i)
        process.send(i % 2 == 0 ? SIGINT : SIGTERM);
    const driver_run run = process.wait();
    REQUIRE((run.code() == 3 || run.code() == 0));
    CHECK(run.json()["state_digest"].is_null() == (run.code() == 3)); // else it was done before
}
