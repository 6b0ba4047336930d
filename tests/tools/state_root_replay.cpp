// The root that a replay keeps: of the state alone, whatever the way to it.
#include <catch2/catch.hpp>
#include <tests/support/random_source.hpp>
#include <tests/tools/root_replays.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <thread>

using namespace chainbase::test;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using nlohmann::json;

TEST_CASE("a replay comes to the same root by any way") {
    const std::string chain = GENERATE("steem-2016", "eos-swap-2022");
    CAPTURE(chain);
    const real_log log(chain);
    const json at_once = replayed(log, with_root + arguments{"--verify-roots"}, "at-once");
    CHECK(at_once["state_digest"] == digest_at_end(chain));
    CHECK(at_once["state_root"]["root"] == root_at_end(chain));
    CHECK(at_once["state_root"]["recomputed"] == true);
    const auto roots = roots_of(log.state("at-once"));
    const std::uint64_t head = at_once["head"];
    CHECK(roots.rbegin()->first == head);
    CHECK_THAT(roots.rbegin()->second, Contains(root_at_end(chain)));

    const auto same = [&](const json& said, const std::string& name) {
        CAPTURE(name);
        CHECK(said["state_root"]["root"] == root_at_end(chain));
        std::size_t shared = 0;
        for (const auto& [number, line] : roots_of(log.state(name))) {
            if (!roots.contains(number) || line.ends_with(unknown_writes)) continue;
            REQUIRE(line == roots.at(number));
            ++shared;
        }
        CHECK(shared > 100);
    };
    same(replayed(log,
                  with_root +
                      arguments{"--archive", "memory", "--threads", "3", "--root-threads", "0"},
                  "memory"),
         "memory");
    same(replayed(log, with_root + arguments{"--root-threads", "5"}, "threads"), "threads");
    for (const std::uint64_t stop : {head / 3, head / 2, head - 1})
        replayed(log, with_root + arguments{"--archive", "none", "--stop-at", std::to_string(stop)},
                 "restarted");
    same(replayed(log, {"--verify-roots"}, "restarted"), "restarted");
    replayed(log, {"--stop-at", std::to_string(head / 2)}, "late");
    const json late = replayed(
        log, with_root + arguments{"--verify-roots", log.state("at-once").string()}, "late");
    CHECK(late["state_root"]["compared_blocks"] > 100);
    same(late, "late");
}

TEST_CASE("a root that is turned on later is that of the block at which the state stands") {
    const real_log log("steem-2016");
    const arguments stop{"--stop-at", "3000"};
    replayed(log, with_root + stop, "from-begin");
    replayed(log, stop, "later");
    replayed(log, with_root + stop, "later");
    const auto later = roots_of(log.state("later"));
    REQUIRE(later.size() == 1);
    CHECK(later.begin()->first == 3000);
    CHECK_THAT(later.begin()->second, Contains(unknown_writes));
    const auto known = roots_of(log.state("from-begin"));
    CHECK_THAT(later.begin()->second, StartsWith(known.at(3000).substr(0, 4 + 1 + 64)));
    CHECK(run_driver({"bisect", log.state("later").string(), log.state("from-begin").string()})
              .code() == 0);
    replayed(log, {"--stop-at", "3100", "--verify-roots", log.state("from-begin").string()},
             "later");
}

TEST_CASE("the roots of some blocks can be asked for") {
    const real_log log("eos-swap-2022");
    replayed(log, with_root, "state");
    const std::string state = log.state("state");
    const auto all = roots_of(state);
    const auto some = [&](const arguments& more) {
        const driver_run run = run_driver(arguments{"roots", state, "--json"} + more);
        INFO(run.err);
        REQUIRE(run.code() == 0);
        return run.json();
    };
    const auto first = all.begin();
    const auto third = std::next(first, 2);
    const json early = some({"--to", std::to_string(third->first)});
    CHECK(early["chain"] == "eos-swap-2022");
    REQUIRE(early["blocks"].size() == 3);
    CHECK(early["blocks"][0]["block"] == first->first);
    CHECK_THAT(third->second, Contains(early["blocks"][2]["root"].get<std::string>()) &&
                                  EndsWith(early["blocks"][2]["writes"].get<std::string>()));
    const json newest = some({"--newest", "1"});
    REQUIRE(newest["blocks"].size() == 1);
    CHECK(newest["blocks"][0]["root"] == root_at_end(log.chain()));
    CHECK(some({"--from", std::to_string(third->first), "--to",
                std::to_string(third->first)})["blocks"]
              .size() == 1);
    const driver_run none = run_driver({"roots", state, "--from", "4000000000"});
    CHECK(none.code() == 2);
    CHECK_THAT(none.err, Contains("none from 4000000000"));

    const auto file = log.state("roots");
    write_roots(file, state);
    CHECK(run_driver({"roots", file.string()}).out == read_file(file));
    const driver_run missing = run_driver({"roots", log.state("missing").string()});
    CHECK(missing.code() == 2);
    CHECK_THAT(missing.err, Contains("neither a state nor a file of roots"));
}

TEST_CASE("a state without a root has nothing of one, and one that is turned off neither") {
    const real_log log("steem-2016");
    const json without = replayed(log, {}, "without");
    CHECK(without["state_root"].is_null());
    for (const auto& [type, objects] : without["objects"].items()) {
        CAPTURE(type);
        CHECK(type.find("root") == std::string::npos);
    }
    CHECK(run_driver({"roots", log.state("without").string()}).code() == 2);

    replayed(log, with_root + arguments{"--stop-at", "100000"}, "off");
    const json off = replayed(log, {"--state-root", "none"}, "off");
    CHECK(off["state_root"].is_null());
    CHECK(off["state_digest"] == digest_at_end(log.chain()));
    for (const auto& [type, objects] : off["objects"].items())
        if (type.find("root") != std::string::npos && type != "state_root.tree")
            CHECK(objects == 0);
    CHECK(replayed(log, {}, "off")["state_root"].is_null());
}

TEST_CASE("a root can be of some types only") {
    const real_log log("steem-2016");
    const json accounts = replayed(log, {"--state-root", "account", "--verify-roots"}, "some");
    CHECK(accounts["state_root"]["types"] == json{"account"});
    CHECK(accounts["state_root"]["objects"] == accounts["objects"]["account"]);
    const std::string root = accounts["state_root"]["root"];
    CHECK(root != root_at_end(log.chain()));
    CHECK(replayed(log, {"--verify-roots"}, "some")["state_root"]["root"] == root);
    const json two = replayed(log, {"--state-root", "account,global", "--verify-roots"}, "some");
    CHECK(two["state_root"]["objects"] == accounts["state_root"]["objects"].get<int>() + 1);
    const json all = replayed(log, with_root, "some");
    CHECK(all["state_root"]["root"] == root_at_end(log.chain()));

    const driver_run unknown = run_driver(log.replay({"--state-root", "acount"}, "some"));
    CHECK(unknown.code() == 2);
    CHECK_THAT(unknown.err, Contains("\"acount\""));
    CHECK(replayed(log, {}, "some")["state_root"]["root"] == root_at_end(log.chain()));
}

TEST_CASE("as many roots are kept as are asked for") {
    const real_log log("steem-2016");
    replayed(log, with_root + arguments{"--keep-roots", "7", "--stop-at", "5000"}, "few");
    CHECK(roots_of(log.state("few")).size() == 7);
    replayed(log, {"--stop-at", "6000"}, "few");
    CHECK(roots_of(log.state("few")).size() == 7);
    replayed(log, {"--keep-roots", "20", "--stop-at", "7000"}, "few");
    CHECK(roots_of(log.state("few")).size() == 20);
    replayed(log, {"--keep-roots", "3", "--stop-at", "8000"}, "few");
    CHECK(roots_of(log.state("few")).size() == 3);
}

TEST_CASE("a root that is turned on is that of what was asked for, or none, also after a kill") {
    const real_log log("steem-2016");
    const arguments some{"--state-root", "account", "--root-threads", "0"};
    replayed(log, {"--stop-at", "100000"}, "killed");
    const std::uint64_t seed = new_seed();
    random_source random(seed);
    int turned_on = 0;
    for (int kills = 0; kills < 10; ++kills) {
        driver_process process(log.replay(some + arguments{"--stop-at", "100000"}, "killed"));
        std::this_thread::sleep_for(std::chrono::milliseconds(random.below(200)));
        process.send(SIGKILL);
        static_cast<void>(process.wait());
        INFO("CHAINBASE_TEST_SEED=" << seed);
        const json root = replayed(log, {"--stop-at", "100000"}, "killed")["state_root"];
        if (root.is_null()) continue;
        ++turned_on;
        CHECK(root["types"] == json{"account"});
        CHECK(roots_of(log.state("killed")).size() == 1);
        replayed(log, {"--state-root", "none", "--stop-at", "100000"}, "killed");
    }
    CAPTURE(turned_on);
    const json last =
        replayed(log, some + arguments{"--stop-at", "100000", "--verify-roots"}, "killed");
    CHECK(last["state_root"]["types"] == json{"account"});
}

TEST_CASE("a call that is refused leaves the root as it was") {
    const real_log log("steem-2016");
    replayed(log, with_root + arguments{"--stop-at", "2000"}, "state");
    const auto before = roots_of(log.state());
    const auto refused = [&](const arguments& more) {
        for (const arguments& wrong :
             {arguments{"--from", "5000"}, arguments{"--stop-at", "1000"}}) {
            const driver_run run = run_driver(log.replay(more + wrong));
            INFO(run.err);
            CHECK(run.code() == 2);
            CHECK(roots_of(log.state()) == before);
        }
    };
    refused({"--keep-roots", "1"});
    refused({"--state-root", "none"});
    refused({"--state-root", "account"});
    replayed(log, {"--state-root", "none", "--stop-at", "2000"}, "state");
    for (const arguments& wrong : {arguments{"--from", "5000"}, arguments{"--stop-at", "1000"}})
        CHECK(run_driver(log.replay(with_root + wrong)).code() == 2);
    CHECK(run_driver({"roots", log.state().string()}).code() == 2);
}

TEST_CASE("what is asked of a root that there is not is refused") {
    const real_log log("eos-swap-2022");
    const auto refused = [&](const arguments& more, const std::string& says) {
        const driver_run run = run_driver(log.replay(more, "none"));
        INFO(run.err);
        CHECK(run.code() == 2);
        CHECK_THAT(run.err, Contains(says));
    };
    refused({"--keep-roots", "5"}, "--keep-roots");
    refused({"--state-root", "none", "--keep-roots", "5"}, "--keep-roots");
    refused({"--state-root", "all,pair"}, "alone");
    refused({"--state-root", "none,all"}, "alone");
    refused({"--state-root", "bogus"}, "its types are ");
    refused({"--verify-roots"}, "--state-root");
}
