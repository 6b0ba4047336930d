#include <tools/block_log/block_log_writer.hpp>
#include <tools/driver/chain_state.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/real_logs.hpp>

#include <algorithm>

/// Replays of the logs that the project carries come to what is known of the data.
using namespace chainbase;
using namespace chainbase::test;
using driver::chain_state;
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
    CHECK(half["irreversible"] == half["head"]);
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

TEST_CASE("a replay and blocks that are applied one by one come to the same state") {
    const captured_log quiet;
    const real_log log("steem-2016");
    const json replayed = run_driver(log.replay({"--stop-at", "140000", "--verify"})).json();
    const std::int64_t lag = GENERATE(0, 1, 20, 30000);
    chain_state state(log.state("one-by-one"), log.chain(), lag);
    block_log_stream blocks = block_log_reader(log.path()).stream();
    while (state.head() < 140'000)
        state.apply(*blocks.next());
    CHECK(state.irreversible() == 140'000 - static_cast<std::uint64_t>(lag));
    CHECK(replayed["state_digest"] == state.model().state_digest());
    CHECK(replayed["operations"] == state.operations());
    if (lag == 30000) { // which holds many back
        const std::int64_t archived = state.model().archived().front().second;
        state.finish();
        CHECK(archived < state.model().archived().front().second);
    }
    // and what one began, the other goes on with
    state.close();
    CHECK(run_driver(log.replay({"--verify"}, "one-by-one")).json()["state_digest"] ==
          digest_at_end("steem-2016"));
}

TEST_CASE("threads and --validate change nothing about what comes out") {
    const std::string chain = GENERATE("steem-2016", "eos-swap-2022");
    const real_log log(chain);
    for (const std::string threads : {"1", "2", "5"}) {
        const json said =
            run_driver(log.replay({"--threads", threads, "--validate"}, threads)).json();
        CHECK(said["state_digest"] == digest_at_end(chain));
        CHECK(said["apply_busy"] > 0);
        CHECK(said["apply_busy"] <= 1);
    }
}

TEST_CASE("the replay begins at --from, or is refused") {
    const real_log log("eos-swap-2022");
    const std::string first = "269262342";
    const auto says = [](const driver_run& run, const char* what) {
        CHECK(run.code() == 2);
        CHECK(run.says(what));
    };
    says(run_driver(log.replay({"--from", "269262400"})),
         "is block 269262342, not block 269262400");
    const json half = run_driver(log.replay({"--from", first, "--stop-at", "269300000"})).json();
    const json again = run_driver(log.replay({"--from", first, "--stop-at", "269310000"})).json();
    CHECK(again["replayed_blocks"] > 0); // as an interrupted call goes on
    says(run_driver(log.replay({"--from", "999999999"})), "is block");
    const std::uint64_t head = again["head"];
    const auto next = block_log_reader(log.path()).stream(head + 1).next();
    CHECK(run_driver(log.replay({"--from", std::to_string(next->number)})).json()["state_digest"] ==
          digest_at_end("eos-swap-2022"));
}

TEST_CASE("a log in pieces is replayed when --from says where each begins") {
    const real_log log("steem-2016");
    const std::filesystem::path folder = log.path().parent_path();
    const std::vector<std::uint64_t> ends{50'000, 100'001, 162'689};
    block_log_stream blocks = block_log_reader(log.path()).stream();
    for (std::uint64_t from = 1; const std::uint64_t end : ends) {
        const std::string piece = folder / ("piece" + std::to_string(end));
        auto writer = block_log_writer::create(piece, log.chain());
        while (writer.head_number().value_or(0) < end)
            writer.append(*blocks.next());
        writer.close();
        std::vector<std::string> call{"replay",  "--block-log", piece,
                                      "--state", log.state(),   "--json"};
        if (from > 1) CHECK(run_driver(call).code() == 2); // nobody said that it follows
        if (from == 50'001) {                              // and this one does not
            const driver_run gap = run_driver(
                {"replay", "--block-log", log.path(), "--state", log.state(), "--from", "100002"});
            CHECK(gap.code() == 2);
            CHECK(gap.says("is block 50001, not block 100002"));
        }
        call.insert(call.end(), {"--from", std::to_string(from)});
        CHECK(run_driver(call).json()["head"] == end);
        from = end + 1;
    }
    CHECK(run_driver(log.replay()).json()["state_digest"] == digest_at_end("steem-2016"));
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
