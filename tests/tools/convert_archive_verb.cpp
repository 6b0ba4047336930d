// The driver's convert-archive, as operators run it.

#include <catch2/catch.hpp>
#include <tests/support/random_source.hpp>
#include <tests/tools/sound_states.hpp>

#include <chrono>
#include <thread>

using namespace chainbase::test;
using nlohmann::json;

namespace fs = std::filesystem;

namespace {

std::vector<std::string> convert_call(const fs::path& state, const std::string& to,
                                      const std::vector<std::string>& more = {}) {
    std::vector<std::string> call{"convert-archive", "--state", state.string(), "--to", to,
                                  "--json"};
    call.insert(call.end(), more.begin(), more.end());
    return call;
}

json converted(const fs::path& state, const std::string& to,
               const std::vector<std::string>& more = {}) {
    const driver_run run = run_driver(convert_call(state, to, more));
    INFO(run.err);
    REQUIRE(run.code() == 0);
    return run.json();
}

/// Of a state as it is.
json said_at(const real_log& log, const std::string& block) {
    const driver_run run = run_driver(log.replay({"--stop-at", block, "--verify"}));
    INFO(run.err);
    REQUIRE(run.code() == 0);
    return run.json();
}

} // namespace

TEST_CASE("a state has the same digest with every archive that it is converted to") {
    const real_log log("steem-2016");
    const std::string first = GENERATE("rocksdb", "memory", "none");
    CAPTURE(first);
    REQUIRE(run_driver(log.replay({"--archive", first, "--stop-at", "80000"})).code() == 0);
    const json before = said_at(log, "80000");
    for (const std::string to : {"memory", "rocksdb", "rocksdb", "memory"}) {
        const json done = converted(log.state(), to);
        CHECK(done["to"] == to);
        CHECK(done["block"] == 80000);
        const json now = said_at(log, "80000");
        CHECK(now["archive"]["store"] == to);
        CHECK(now["state_digest"] == before["state_digest"]);
        CHECK(now["replayed_blocks"] == 0);
        check_sound(log.state());
    }
    check_goes_on(log, "state");
    if (first == "none") CHECK(said_at(log, "162689")["archived"]["comment"] == 3566);
}

TEST_CASE("a conversion that is killed again and again comes to its end") {
    const real_log log("steem-2016");
    REQUIRE(run_driver(log.replay({"--stop-at", "80000"})).code() == 0);
    const std::string digest = said_at(log, "80000")["state_digest"];
    const std::uint64_t seed = test_seed(13);
    CAPTURE(seed);
    random_source random(seed);
    for (int n = 0; n < 6; ++n) {
        const std::string to = n % 2 == 0 ? "memory" : "rocksdb";
        for (int calls = 0;; ++calls) {
            driver_process process(convert_call(log.state(), to));
            std::this_thread::sleep_for(std::chrono::microseconds(random.below(60'000)));
            if (calls < 3) process.send(SIGKILL);
            const driver_run run = process.wait();
            INFO(run.err);
            if (run.was_killed()) continue;
            REQUIRE(run.code() == 0);
            break;
        }
        const json now = said_at(log, "80000");
        CHECK(now["archive"]["store"] == to);
        CHECK(now["state_digest"] == digest);
        check_sound(log.state());
    }
    check_goes_on(log, "state");
}

TEST_CASE("what a killed replay left is converted") {
    const real_log log("steem-2016");
    driver_process replay(log.replay());
    while (replay.is_running() && !fs::exists(log.state() / "archive" / "rocksdb" / "CURRENT"))
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    replay.send(SIGKILL);
    (void)replay.wait();
    (void)converted(log.state(), "memory");
    check_goes_on(log, "state");
}

TEST_CASE("blocks that can be popped are taken back if that is asked for, and come again") {
    const real_log log("steem-2016");
    const auto sync_to = [&](const std::string& stop) {
        const driver_run run =
            run_driver({"sync", "--block-log", log.path().string(), "--state", log.state().string(),
                        "--once", "--lag", "20", "--stop-at", stop, "--json"});
        INFO(run.err);
        REQUIRE(run.code() == 0);
        return run.json();
    };
    const json before = sync_to("1000");
    const driver_run refused = run_driver(convert_call(log.state(), "memory"));
    CHECK(refused.code() == 2);
    CHECK(refused.says("20 blocks"));
    CHECK(refused.says("--pop"));
    const json done = converted(log.state(), "memory", {"--pop"});
    CHECK(done["popped"] == 20);
    CHECK(done["block"] == 980);
    CHECK(sync_to("1000")["state_digest"] == before["state_digest"]);
}

TEST_CASE("a conversion that cannot be is refused, with the state as it was") {
    const real_log log("steem-2016");
    REQUIRE(run_driver(log.replay({"--stop-at", "80000"})).code() == 0);
    const driver_run to_none = run_driver(convert_call(log.state(), "none"));
    CHECK(to_none.code() == 2);
    CHECK(to_none.says("not put back"));
    CHECK(run_driver(convert_call(log.state("nowhere"), "memory")).code() == 2);
    CHECK(run_driver(convert_call(log.state(), "paper")).code() == 2);
    check_goes_on(log, "state");
}

TEST_CASE("a state that somebody writes is not converted") {
    const real_log log("steem-2016");
    driver_process writer(log.replay());
    while (writer.is_running() && !fs::exists(log.state() / "archive" / "rocksdb" / "CURRENT"))
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    writer.send(SIGSTOP);
    const driver_run refused = run_driver(convert_call(log.state(), "memory"));
    writer.send(SIGCONT);
    CHECK(refused.code() == 1);
    CHECK(refused.says("a writer has this state open"));
    CHECK(writer.wait().code() == 0);
    check_goes_on(log, "state");
}
