#include <catch2/catch.hpp>
#include <tests/support/random_source.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/real_logs.hpp>
#include <tests/tools/scripted_peer.hpp>
#include <tests/tools/server_process.hpp>

#include <chrono>
#include <thread>

/// The processes at both ends are stopped at random times, and the state comes to the same digest.
using namespace chainbase::test;
using nlohmann::json;

namespace {

std::vector<std::string> sync_call(const real_log& log, const server_process& from,
                                   const std::string& state) {
    return {"sync",   "--peer", from.address(), "--state", log.state(state).string(),
            "--json", "--once", "--verify"};
}

std::uint32_t microseconds_of(const real_log& log, const server_process& server) {
    const auto begin = std::chrono::steady_clock::now();
    const driver_run run = run_driver(sync_call(log, server, "undisturbed"));
    INFO(run.err);
    REQUIRE(run.code() == 0);
    CHECK(run.json()["state_digest"] == digest_at_end(log.chain()));
    return static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                          std::chrono::steady_clock::now() - begin)
                                          .count());
}

} // namespace

TEST_CASE("a sync killed or interrupted at random times goes on to the same state") {
    const real_log log("eos-swap-2022");
    server_process server(log);
    const std::uint64_t seed = new_seed();
    random_source random(seed);
    const std::uint32_t longest = microseconds_of(log, server);
    std::string state = "state";
    for (int ended = 0; ended < 12;) {
        driver_process process(sync_call(log, server, state));
        std::this_thread::sleep_for(std::chrono::microseconds(random.below(longest)));
        process.send(random.chance(700) ? SIGKILL : SIGTERM);
        const driver_run run = process.wait();
        INFO("CHAINBASE_TEST_SEED=" << seed << ", stderr: " << run.err);
        if (run.code() != 0) {
            REQUIRE((run.code() == 3 || WIFSIGNALED(run.status)));
            ++ended;
            continue;
        }
        CHECK(run.json()["state_digest"] == digest_at_end(log.chain()));
        state += ".";
    }
    const driver_run last = run_driver(sync_call(log, server, state));
    INFO("CHAINBASE_TEST_SEED=" << seed << ", stderr: " << last.err);
    REQUIRE(last.code() == 0);
    CHECK(last.json()["state_digest"] == digest_at_end(log.chain()));
}

TEST_CASE("a server killed and started again costs a sync nothing but time") {
    const real_log log("eos-swap-2022");
    server_process server(log);
    const std::uint64_t seed = new_seed();
    random_source random(seed);
    INFO("CHAINBASE_TEST_SEED=" << seed);
    const std::uint32_t longest = microseconds_of(log, server);
    driver_process process(sync_call(log, server, "state"));
    for (int kills = 0; kills < 5 && process.is_running(); ++kills) {
        std::this_thread::sleep_for(std::chrono::microseconds(random.below(longest / 2)));
        server.process().send(SIGKILL);
        server.restart();
    }
    const driver_run run = process.wait();
    INFO(run.err);
    REQUIRE(run.code() == 0);
    CHECK(run.json()["state_digest"] == digest_at_end(log.chain()));
}

TEST_CASE("serve and sync end with a signal, and say what they did") {
    const real_log log("eos-swap-2022");
    server_process server(log);
    driver_process client(
        {"sync", "--peer", server.address(), "--state", log.state().string(), "--json"});
    const temporary_folder elsewhere;
    REQUIRE(run_driver({"sync", "--peer", server.address(), "--state",
                        (elsewhere / "state").string(), "--once"})
                .code() == 0);
    server.process().send(SIGTERM);
    CHECK(server.process().wait().code() == 0);
    client.send(SIGINT);
    const driver_run run = client.wait();
    INFO(run.err);
    if (WIFSIGNALED(run.status)) return; // before it began to listen
    CHECK(run.code() == 3);
    if (!run.out.empty()) CHECK(run.json()["interrupted"].get<bool>());
}

TEST_CASE("sync and live end with exit code 3 when a signal comes before a peer answers") {
    const std::string verb = GENERATE("sync", "live");
    const scripted_peer mute([](raw_connection& with, int) { with.wait_for_end(); });
    const temporary_folder folder;
    driver_process process({verb, "--peer", mute.address(), "--state", folder / "state", "--json"});
    while (mute.connections() == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    process.send(SIGINT);
    const driver_run run = process.wait();
    INFO(run.err);
    CHECK(run.code() == 3);
    CHECK(run.out.empty());
    CHECK(run.says("the same call goes on"));
    CHECK_FALSE(std::filesystem::exists(folder / "state"));
}

TEST_CASE("calls of serve and sync that are wrong say why") {
    const real_log log("eos-swap-2022");
    const auto wrong = [&](std::vector<std::string> call, const char* why) {
        const driver_run run = run_driver(std::move(call));
        INFO(run.err);
        CHECK(run.code() == 2);
        CHECK((run.err + run.out).find(why) != std::string::npos);
    };
    const std::string state = log.state().string();
    wrong({"sync", "--state", state}, "--peer HOST:PORT");
    wrong({"sync", "--state", state, "--peer", "here"}, "is no address");
    wrong({"sync", "--state", state, "--peer", "here:99999"}, "is no address");
    wrong({"sync", "--state", state, "--peer", "::1:4000"}, "is no address");
    wrong({"sync", "--state", state, "--peer", "a:1", "--chain", "nothing"}, "no model for");
    wrong({"sync", "--state", state, "--block-log", "b", "--chain", "payments"}, "excludes");
    wrong({"serve", "--block-log", log.path().string(), "--metrics", "here"}, "is no address");
    wrong({"sync", "--state", state, "--peer", "a:1", "--block-log", "b"}, "excludes");
    wrong({"sync", "--state", state, "--peer", "a:1", "--lag", "4097"}, "--lag");
    wrong({"serve", "--block-log", log.path().string(), "--listen", "nowhere"}, "is no address");
    wrong({"serve", "--block-log", log.path().string(), "--from-head", "1"}, "--blocks-per-second");
    wrong({"serve", "--block-log", log.path().string(), "--from-head", "1", "--blocks-per-second",
           "5"},
          "has no block 1");
    CHECK_FALSE(std::filesystem::exists(log.state()));
    const driver_run nobody = run_driver(
        {"sync", "--state", state, "--peer", "127.0.0.1:1", "--once", "--attempts", "2"});
    CHECK(nobody.code() == 1);
    CHECK(nobody.says("127.0.0.1:1"));
    CHECK(nobody.says("No peer is left"));
}

namespace {

/// A generated log with branches beside it, some of them bad, and what replaying it leads to.
struct forked_log {
    temporary_folder folder{memory_or_disk()};
    std::string log = folder / "log";
    json replayed;

    explicit forked_log(std::uint64_t seed) {
        const driver_run made =
            run_driver({"generate", "--operations", "30000", "--accounts", "500", "--seed",
                        std::to_string(seed), "--to", log, "--forks", "20", "--fork-depth", "8",
                        "--bad-forks", "30"});
        INFO(made.err);
        REQUIRE(made.code() == 0);
        replayed = call({"replay", "--block-log", log, "--state", folder / "replayed",
                         "--state-root", "all", "--verify-roots"});
    }
    /// What a call that comes to its end says.
    static json call(std::vector<std::string> arguments) {
        arguments.emplace_back("--json");
        const driver_run run = run_driver(std::move(arguments));
        INFO(run.err);
        REQUIRE(run.code() == 0);
        return run.json();
    }
    [[nodiscard]] std::vector<std::string> sync(const server_process& from,
                                                const std::string& state) const {
        return {"sync",   "--peer",   from.address(), "--state", folder / state,
                "--once", "--verify", "--state-root", "all"};
    }
};

} // namespace

TEST_CASE(
    "a sync that is killed among forks goes on to the same state, and so do live and replay") {
    const std::uint64_t seed = test_seed(31);
    INFO("CHAINBASE_TEST_SEED=" << seed);
    random_source random(seed);
    const forked_log all(seed);
    server_process server(all.log, {"--forks", all.log + ".forks"});
    const auto begin = std::chrono::steady_clock::now();
    forked_log::call(all.sync(server, "undisturbed"));
    const auto longest =
        static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                       std::chrono::steady_clock::now() - begin)
                                       .count());
    for (const std::string verb : {"sync", "live", "replay"}) {
        const std::string state = all.folder / verb;
        for (int kills = 0; kills < 4; ++kills) {
            driver_process process(all.sync(server, verb));
            std::this_thread::sleep_for(std::chrono::microseconds(random.below(longest)));
            process.send(SIGKILL);
            static_cast<void>(process.wait());
        }
        std::vector<std::string> last{verb, "--state", state, "--state-root", "all"};
        if (verb == "replay")
            last.insert(last.end(), {"--block-log", all.log});
        else
            last.insert(last.end(), {"--peer", server.address(), "--once"});
        const json end = forked_log::call(last);
        CHECK(end["state_digest"] == all.replayed["state_digest"]);
        CHECK(end["head"] == all.replayed["head"]);
        const json verified = forked_log::call(
            {"replay", "--block-log", all.log, "--state", state, "--verify-roots"});
        CHECK(verified["state_root"]["root"] == all.replayed["state_root"]["root"]);
        CHECK(verified["state_root"]["recomputed"] == true);
    }
}

TEST_CASE("a server of forks that is killed and started again costs nothing but time") {
    const std::uint64_t seed = test_seed(37);
    INFO("CHAINBASE_TEST_SEED=" << seed);
    random_source random(seed);
    const forked_log all(seed);
    server_process server(all.log, {"--forks", all.log + ".forks"});
    std::vector<std::string> call = all.sync(server, "state");
    call.emplace_back("--json");
    driver_process process(call);
    for (int kills = 0; kills < 5 && process.is_running(); ++kills) {
        std::this_thread::sleep_for(std::chrono::milliseconds(random.below(60)));
        server.process().send(SIGKILL);
        server.restart();
    }
    const driver_run run = process.wait();
    INFO(run.err);
    REQUIRE(run.code() == 0);
    CHECK(run.json()["state_digest"] == all.replayed["state_digest"]);
}

TEST_CASE("a log in place of a peer: its end is the end, and a foreign one is refused") {
    const forked_log all(test_seed(41));
    const std::string state = all.folder / "state";
    const json end = forked_log::call({"sync", "--block-log", all.log, "--state", state});
    CHECK(end["state_digest"] == all.replayed["state_digest"]);
    CHECK(end["irreversible"] == all.replayed["head"]);
    const forked_log other(test_seed(43));
    const driver_run foreign = run_driver({"sync", "--block-log", other.log, "--state", state});
    INFO(foreign.err);
    CHECK(foreign.code() == 2);
    CHECK(foreign.says("use the log that the state was made from"));
    const json again = forked_log::call({"sync", "--block-log", all.log, "--state", state});
    CHECK(again["state_digest"] == all.replayed["state_digest"]);
    CHECK(again["replayed_blocks"] == 0);
}

TEST_CASE("forks of a generated chain are followed and left, good ones and bad ones") {
    const forked_log all(test_seed(23));
    server_process server(all.log, {"--forks", all.log + ".forks"});
    const json synced = forked_log::call(all.sync(server, "synced"));
    CHECK(synced["state_digest"] == all.replayed["state_digest"]);
    CHECK(synced["operations"] == all.replayed["operations"]);
    CHECK(synced["sync"]["popped_blocks"] > 10);
    CHECK(synced["sync"]["rejected_blocks"] > 0);
}
