// The root that a replay keeps: of the state alone, whatever the way to it; compared block by
// block.
#include <catch2/catch.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/real_logs.hpp>

#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace chainbase::test;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace {

using arguments = std::vector<std::string>;

const arguments with_root{"--state-root", "all"};

arguments operator+(arguments some, const arguments& more) {
    some.insert(some.end(), more.begin(), more.end());
    return some;
}

json replayed(const real_log& log, const arguments& more, const std::string& name) {
    const driver_run run = run_driver(log.replay(more, name));
    INFO(run.err);
    REQUIRE(run.code() == 0);
    return run.json();
}

/// What `roots` prints, by block.
std::map<std::uint64_t, std::string> roots_of(const std::filesystem::path& state) {
    const driver_run run = run_driver({"roots", state.string()});
    INFO(run.err);
    REQUIRE(run.code() == 0);
    std::map<std::uint64_t, std::string> all;
    std::istringstream lines(run.out);
    for (std::string line; std::getline(lines, line);)
        if (line.front() != '#') all[std::stoull(line)] = line;
    return all;
}

void write_roots(const std::filesystem::path& file, const std::filesystem::path& state) {
    write_file(file, run_driver({"roots", state.string()}).out);
}

} // namespace

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
        for (const auto& [number, line] : roots_of(log.state(name)))
            if (roots.contains(number)) REQUIRE(line == roots.at(number));
    };
    same(replayed(log, with_root + arguments{"--archive", "memory", "--threads", "3"}, "memory"),
         "memory");
    for (const std::uint64_t stop : {head / 3, head / 2, head - 1})
        (void)run_driver(log.replay(
            with_root + arguments{"--archive", "none", "--stop-at", std::to_string(stop)},
            "restarted"));
    same(replayed(log, {"--verify-roots"}, "restarted"), "restarted");
    replayed(log, {"--stop-at", std::to_string(head / 2)}, "late");
    same(replayed(log, with_root + arguments{"--verify-roots", log.state("at-once").string()},
                  "late"),
         "late");
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
    CHECK_THAT(read_file(file), Contains("# types: account\n"));
    refused({"bisect", log.state("all").string(), file.string()});
    refused(log.replay({"--verify-roots", file.string()}, "all"));
    replayed(log, accounts + arguments{"--verify-roots", file.string(), "--stop-at", stop}, "new");

    const json other = replayed(log, accounts + arguments{"--stop-at", "2500"}, "all");
    CHECK(other["state_root"]["types"] == json{"account"});
    CHECK(roots_of(log.state("all")).begin()->first > 2000);
    CHECK(run_driver({"bisect", log.state("all").string(), log.state("some").string()}).code() ==
          2);
    replayed(log, {"--stop-at", "2500"}, "some");
    const driver_run same =
        run_driver({"bisect", log.state("all").string(), log.state("some").string()});
    INFO(same.out);
    CHECK(same.code() == 0);
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
    std::string text = read_file(file);
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
    CHECK(said["state_root"]["differs"]["same_writes"] == true);
    CHECK_THAT(line, Contains(said["state_root"]["root"].get<std::string>()));
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
