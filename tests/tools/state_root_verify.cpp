// The roots of a replay, compared with others block by block.
#include <chainbase/database.hpp>
#include <tools/chains/social/objects.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/root_replays.hpp>
#include <tests/tools/small_chain.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using nlohmann::json;

TEST_CASE("roots of other types are not compared") {
    const real_log log("steem-2016");
    const arguments accounts{"--state-root", "account"};
    const std::string stop = "2000";
    replayed(log, with_root + arguments{"--stop-at", stop}, "all");
    replayed(log, accounts + arguments{"--stop-at", stop}, "some");
    const auto refused = [&](const arguments& call) {
        const driver_run run = run_driver(call);
        INFO(run.err);
        CHECK(run.code() == 2);
        CHECK_THAT(run.err, Contains("--state-root ") && Contains("account"));
    };
    refused({"bisect", log.state("all").string(), log.state("some").string()});
    const auto file = log.state("roots");
    write_roots(file, log.state("some"));
    CHECK_THAT(test::read_file(file), Contains("# types: account\n"));
    refused({"bisect", log.state("all").string(), file.string()});
    refused(log.replay({"--verify-roots", file.string()}, "all"));
    replayed(log, accounts + arguments{"--verify-roots", file.string(), "--stop-at", stop}, "new");

    const json other = replayed(log, accounts + arguments{"--stop-at", "2500"}, "all");
    CHECK(other["state_root"]["types"] == json{"account"});
    const auto roots = roots_of(log.state("all"));
    CHECK(roots.begin()->first == std::stoull(stop)); // where it was made anew
    CHECK_THAT(roots.begin()->second, Contains(unknown_writes));
    replayed(log, {"--stop-at", "2500"}, "some");
    const driver_run same =
        run_driver({"bisect", log.state("all").string(), log.state("some").string()});
    INFO(same.out);
    CHECK(same.code() == 0);
}

TEST_CASE("roots of other chains are not compared") {
    const real_log steem("steem-2016");
    const real_log eos("eos-swap-2022");
    replayed(steem, with_root + arguments{"--stop-at", "500"}, "steem");
    replayed(eos, with_root, "eos");
    const auto file = steem.state("roots");
    write_roots(file, steem.state("steem"));
    CHECK_THAT(test::read_file(file), StartsWith("# chain: steem-2016\n"));
    const auto refused = [&](const arguments& call) {
        const driver_run run = run_driver(call);
        INFO(run.err);
        CHECK(run.code() == 2);
        CHECK_THAT(run.err, Contains("of the chain steem-2016") && Contains("of eos-swap-2022"));
    };
    refused({"bisect", file.string(), eos.state("eos").string()});
    refused(eos.replay({"--verify-roots", file.string()}, "eos"));
}

TEST_CASE("a replay stops behind the first block with another root than is expected") {
    const real_log log("steem-2016");
    const auto file = log.state("roots");
    const arguments some{"--stop-at", "30000"};
    replayed(log, with_root + some, "whole");
    write_roots(file, log.state("whole"));
    const auto roots = roots_of(log.state("whole"));
    const json same =
        replayed(log, with_root + some + arguments{"--verify-roots", file.string()}, "same");
    CHECK(same["state_root"]["compared_blocks"] == roots.size());
    CHECK(same["state_root"]["differs"].is_null());

    const auto changed = std::next(roots.begin(), static_cast<long>(roots.size() / 2));
    std::string text = test::read_file(file);
    const std::string line = changed->second;
    const auto digit = text.find(line) + line.find(' ') + 5;
    text[digit] = text[digit] == 'a' ? 'b' : 'a';
    write_file(file, text);
    const driver_run run = run_driver(
        log.replay(with_root + some + arguments{"--verify-roots", file.string()}, "stopped"));
    INFO(run.err);
    REQUIRE(run.code() == 5);
    const json said = run.json();
    CHECK(said["head"] == changed->first);
    CHECK(said["state_root"]["differs"]["block"] == changed->first);
    CHECK_THAT(line, Contains(said["state_root"]["root"].get<std::string>()));
    CHECK(said["state_root"]["differs"]["same_writes"] == true);

    const driver_run again = run_driver( // which remembers
        log.replay(with_root + some + arguments{"--verify-roots", file.string()}, "stopped"));
    CHECK(again.code() == 5);
    CHECK(again.json()["state_root"]["differs"] == said["state_root"]["differs"]);
    CHECK(again.json()["replayed_blocks"] == 0);
    const json rest = replayed(log, some, "stopped");
    CHECK_THAT(roots.rbegin()->second, Contains(rest["state_root"]["root"].get<std::string>()));
}

TEST_CASE("what cannot be compared with roots is refused") {
    const real_log log("eos-swap-2022");
    const auto file = log.state("roots");
    const auto refused = [&](const std::string& content, int code, const std::string& says) {
        write_file(file, content);
        const driver_run run =
            run_driver(log.replay(with_root + arguments{"--verify-roots", file.string()}));
        CAPTURE(content, run.err);
        CHECK(run.code() == code);
        CHECK_THAT(run.err, Contains(file.string()) && Contains(says));
        CHECK_FALSE(std::filesystem::exists(log.state()));
    };
    const std::string digest(64, 'a');
    const std::string good = "7 " + digest + ' ' + digest;
    refused("", 1, "has no roots");
    refused("# nothing\n", 1, "has no roots");
    refused(good + '\n' + good + '\n', 1, "line 2");
    refused(good + " more\n", 1, "line 1");
    refused("seven " + digest + ' ' + digest, 1, "line 1");
    refused("7 " + digest.substr(1) + ' ' + digest, 1, "line 1");
    refused("7 " + digest.substr(1) + "g " + digest, 1, "line 1");
    refused("7 " + digest, 1, "line 1");

    for (const char* number : {"-7", "+7", "0", "7x", "18446744073709551616"})
        refused(number + (' ' + digest + ' ' + digest), 1, "line 1");

    write_file(file, good + '\n');
    const driver_run without = run_driver(log.replay({"--verify-roots", file.string()}));
    CHECK(without.code() == 2);
    CHECK_THAT(without.err, Contains("--state-root"));
    CHECK(run_driver(log.replay({"--verify-roots"}, "other")).code() == 2);
    replayed(log, {}, "no-root");
    const driver_run of_none = run_driver(
        log.replay(with_root + arguments{"--verify-roots", log.state("no-root").string()}));
    CHECK(of_none.code() == 2);
    CHECK_THAT(of_none.err, Contains("keeps no roots"));
}

TEST_CASE("roots that have no block in common with a state are refused") {
    const real_log log("steem-2016");
    replayed(log, with_root + arguments{"--stop-at", "300"}, "begun");
    const auto file = log.state("roots");
    const std::string digest(64, 'a');
    const auto refused = [&](const char* block, const arguments& more) {
        write_file(file, std::string(block) + ' ' + digest + ' ' + digest + '\n');
        const driver_run run =
            run_driver(log.replay(arguments{"--verify-roots", file.string()} + more, "begun"));
        INFO(run.err);
        CHECK(run.code() == 2);
        CHECK_THAT(run.err, Contains("blocks " + std::string(block) + " to") &&
                                Contains("nothing was compared"));
    };
    refused("400", {"--stop-at", "350"});
    replayed(log, {"--keep-roots", "3"}, "begun");
    refused("7", {});
    refused("4000000000", {});
}

TEST_CASE("a block with another root is told though the books do not add up either") {
    const temporary_folder folder;
    const auto replay = [&](const char* state, const arguments& more) {
        return run_driver(arguments{"replay", "--json", "--block-log", folder / "log", "--state",
                                    folder / state} +
                          with_root + more);
    };
    std::vector<block> blocks{block_of(1, 1000, account("alice"), account("bob"))};
    for (std::uint64_t number = 2; number <= 20; ++number) {
        social::deposit one;
        one.to = number % 2 == 0 ? "alice" : "bob";
        one.amount = static_cast<std::int64_t>(number);
        blocks.push_back(
            block_of(number, 1000 + static_cast<std::int64_t>(number), social::operation(one)));
    }
    write_blocks(folder / "log", "social", blocks);
    const driver_run whole = replay("whole", {});
    INFO(whole.err);
    REQUIRE(whole.code() == 0);
    REQUIRE(replay("flipped", {"--stop-at", "10"}).code() == 0);
    {
        database state(folder / "flipped", {});
        state.add_type<social::account_object>("account");
        const auto& alice = state.get(id<social::account_object>(0));
        const_cast<std::int64_t&>(alice.balance) ^= 8;
        state.close();
    }
    const driver_run run = replay("flipped", {"--verify-roots", (folder / "whole").string()});
    INFO(run.err);
    REQUIRE(run.code() == 5);
    const json said = run.json();
    CHECK(said["state_root"]["differs"]["block"] == 12); // the next one for alice
    CHECK_THAT(said["broken_books"].get<std::string>(), Contains("does not add up"));
    const driver_run anew = replay("flipped", {"--verify-roots"});
    CHECK(anew.code() == 1);
}
