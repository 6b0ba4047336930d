#include <catch2/catch.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/real_logs.hpp>

#include <algorithm>

/// Replays of the logs that the project carries come to what is known of the data.
using namespace chainbase::test;
using nlohmann::json;

namespace {

std::uint64_t sum_of(const json& numbers) {
    std::uint64_t sum = 0;
    for (const auto& one : numbers)
        sum += one.get<std::uint64_t>();
    return sum;
}

void check_frame(const json& said, const std::string& chain) {
    CHECK(said["chain"] == chain);
    CHECK(said["replayed_blocks"] == said["blocks"]);
    CHECK(said["replayed_operations"] == said["operations"]);
    CHECK(said["head"] == said["irreversible"]);
    CHECK(said["seconds"] > 0);
    CHECK(said["ops_per_second"].get<double>() * said["seconds"].get<double>() ==
          Approx(said["replayed_operations"].get<double>()).epsilon(0.01));
    CHECK_FALSE(said["interrupted"].get<bool>());
    const json& bytes = said["bytes"];
    CHECK(sum_of(bytes["types"]) + bytes["log"].get<std::uint64_t>() +
              bytes["buffers"].get<std::uint64_t>() + bytes["header"].get<std::uint64_t>() ==
          bytes["total"].get<std::uint64_t>());
    CHECK(said["state_digest"] == digest_at_end(chain));
}

} // namespace

TEST_CASE("a replay of steem-2016 pays what the data says") {
    const real_log log("steem-2016");
    const driver_run run = run_driver(log.replay({"--verify"}));
    REQUIRE(run.code() == 0);
    const json said = run.json();
    check_frame(said, "steem-2016");
    CHECK(said["blocks"] == 162'689);
    CHECK(said["operations"] == 274'113);
    CHECK(said["head"] == 162'689);
    const json& oracle = said["oracle"];
    CHECK(oracle["paid_posts"] == 3566);
    CHECK(oracle["author_paid"] == 53'183'942);
    CHECK(oracle["curator_paid"].get<int>() + oracle["unassigned"].get<int>() == 15'249'522);
    CHECK(oracle["votes_on_paid"] == 21'757);
    CHECK(oracle["author_paid"].get<int>() + oracle["curator_paid"].get<int>() ==
          oracle["sum_of_balances"].get<int>());
    CHECK(oracle["sum_of_balances"].get<int>() + oracle["unassigned"].get<int>() == 68'433'464);
    CHECK(oracle["curator_remainder_to_author"].get<int>() < 21'757);
    CHECK(said["objects"]["account"] == 92'462);
    CHECK(said["objects"]["comment"] == 3488);
    CHECK(said["objects"]["vote"] == 174'597 - 21'757);
    CHECK(said["archived"]["comment"] == 3566);
    CHECK(said["verified"]["objects"] == 7054);
    CHECK(said["verified"]["in_memory"] == 3488);
    CHECK(said["verified"]["in_archive"] == 3566);
}

TEST_CASE("a replay of eos-swap-2022 counts what the data says") {
    const real_log log("eos-swap-2022");
    const driver_run run = run_driver(log.replay({"--verify"}));
    REQUIRE(run.code() == 0);
    const json said = run.json();
    check_frame(said, "eos-swap-2022");
    CHECK(said["blocks"] == 81'069);
    CHECK(said["operations"] == 146'145);
    CHECK(said["oracle"] == json{{"first_of_pair", 322},
                                 {"out_exact", 142'939},
                                 {"out_other", 2884},
                                 {"in_exact", 130'611},
                                 {"in_other", 15'212}});
    CHECK(said["objects"]["pair"] == 322);
    CHECK(said["objects"]["owner"] == 4621);
    CHECK(said["verified"]["objects"] == 4943);
}

TEST_CASE("a replay that stops and goes on comes to the same state") {
    const auto [chain, middle] = GENERATE(table<std::string, std::string>(
        {{"steem-2016", "100000"}, {"eos-swap-2022", "270000000"}}));
    const real_log log(chain);
    const json half = run_driver(log.replay({"--stop-at", middle, "--verify"})).json();
    CHECK(half["head"] <= std::stoull(middle));
    CHECK(half["irreversible"] < half["head"]);
    CHECK(half["state_digest"] != digest_at_end(chain));
    const json again = run_driver(log.replay({"--stop-at", middle})).json();
    CHECK(again["replayed_blocks"] == 0);
    CHECK(again["state_digest"] == half["state_digest"]);
    CHECK(again["oracle"] == half["oracle"]);
    const json rest = run_driver(log.replay({"--verify"})).json();
    CHECK(rest["state_digest"] == digest_at_end(chain));
    CHECK(rest["replayed_blocks"].get<int>() + half["blocks"].get<int>() ==
          rest["blocks"].get<int>());
}

TEST_CASE("the digest depends neither on the lag nor on where objects are") {
    const real_log log("steem-2016");
    std::vector<json> said;
    for (const std::string lag : {"0", "1", "20", "30000"})
        said.push_back(
            run_driver(log.replay({"--stop-at", "140000", "--verify", "--lag", lag}, "lag" + lag))
                .json());
    for (const json& one : said) {
        CHECK(one["state_digest"] == said.front()["state_digest"]);
        CHECK(one["oracle"] == said.front()["oracle"]);
    }
    CHECK(said.front()["irreversible"] == 140'000);
    CHECK(said.back()["irreversible"] == 110'000);
    CHECK(said.front()["archived"]["comment"] > said.back()["archived"]["comment"]);
    CHECK(run_driver(log.replay({"--verify"}, "lag30000")).json()["state_digest"] ==
          digest_at_end("steem-2016"));
}

TEST_CASE("without --json a summary is printed") {
    const real_log log("eos-swap-2022");
    std::vector<std::string> call = log.replay({"--stop-at", "269300000"});
    std::erase(call, "--json");
    const driver_run run = run_driver(call);
    CHECK(run.code() == 0);
    CHECK(run.out.find("state digest ") != std::string::npos);
    CHECK(run.out.find("first_of_pair") != std::string::npos);
    CHECK(run.out.find("operations/s") != std::string::npos);
}

TEST_CASE("a replay shows on stderr that it works, and how it ended") {
    const real_log log("steem-2016");
    const driver_run part = run_driver(log.replay({"--stop-at", "100000"}));
    CHECK(part.says("block 100000: 100000 blocks, "));
    CHECK(part.says("the block to stop at"));
    const driver_run rest = run_driver(log.replay());
    CHECK(rest.says("block 162689: 162689 blocks, "));
    CHECK(rest.says("3566 objects archived"));
    CHECK(rest.says("the end of the log"));
    const driver_run nothing = run_driver(log.replay());
    CHECK(nothing.says("the end of the log"));
    // A replay that takes longer than 0.2 s has said something before its end.
    const driver_run whole = run_driver(log.replay({}, "whole"));
    const auto lines = std::count(whole.err.begin(), whole.err.end(), '\n');
    if (whole.json()["seconds"] > 0.5) CHECK(lines >= 2);
}
