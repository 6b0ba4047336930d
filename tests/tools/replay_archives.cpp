// Where finished objects go is chosen when a state is made, and changes nothing of what it says.

#include <catch2/catch.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/real_logs.hpp>

#include <fstream>
#include <map>

using namespace chainbase::test;
using Catch::Matchers::Contains;
using nlohmann::json;

TEST_CASE("a replay comes to the same state with any archive") {
    const std::string chain = GENERATE("steem-2016", "eos-swap-2022");
    const real_log log(chain);
    std::map<std::string, json> said;
    for (const std::string archive : {"rocksdb", "memory", "none"}) {
        CAPTURE(chain, archive);
        REQUIRE(
            run_driver(log.replay({"--archive", archive, "--stop-at", "1000"}, archive)).code() ==
            0);
        const driver_run rest = run_driver(log.replay({"--verify"}, archive));
        INFO(rest.err);
        REQUIRE(rest.code() == 0);
        said[archive] = rest.json();
        CHECK(said[archive]["state_digest"] == digest_at_end(chain));
        CHECK(said[archive]["archive"]["store"] == archive);
    }
    if (chain != "steem-2016") return; // the other one archives nothing
    CHECK(said["rocksdb"]["archived"] == said["memory"]["archived"]);
    CHECK(said["memory"]["archive"]["rows"] > 0);
    CHECK(said["memory"]["archive"]["batches"]["count"] > 0);
    CHECK(said["none"]["archived"]["comment"] == 0);
    CHECK(said["none"]["archive"]["rows"] == 0);
    CHECK(said["none"]["verified"]["in_archive"] == 0);
    CHECK(said["memory"]["verified"]["in_archive"] == said["rocksdb"]["verified"]["in_archive"]);
}

TEST_CASE("an archive stays what it was made as, and another one is refused by name") {
    const real_log log("steem-2016");
    for (const std::string made : {"rocksdb", "memory", "none"}) {
        REQUIRE(run_driver(log.replay({"--archive", made, "--stop-at", "500"}, made)).code() == 0);
        for (const std::string asked : {"rocksdb", "memory", "none"}) {
            if (asked == made) continue;
            const driver_run refused = run_driver(log.replay({"--archive", asked}, made));
            CHECK(refused.code() == 2);
            CHECK_THAT(refused.err, Contains("`" + made + "`") && Contains("`" + asked + "`") &&
                                        Contains((log.state(made) / "archive").string()));
        }
        CHECK(run_driver(log.replay({"--stop-at", "600"}, made)).code() == 0);
    }
}

TEST_CASE("a folder that is no archive is refused for every kind and not touched") {
    const real_log log("steem-2016");
    for (const std::string kind : {"rocksdb", "memory", "none"}) {
        REQUIRE(run_driver(log.replay({"--archive", kind, "--stop-at", "100"}, kind)).code() == 0);
        const auto archive = log.state(kind) / "archive";
        std::filesystem::remove_all(archive);
        std::filesystem::create_directory(archive);
        std::filesystem::permissions(archive, std::filesystem::perms::owner_all);
        std::ofstream(archive / "notes") << "mine";
        const driver_run refused = run_driver(log.replay({"--archive", kind}, kind));
        CHECK(refused.code() == 1);
        CHECK_THAT(refused.err, Contains(archive.string()) && Contains("format"));
        CHECK_FALSE(std::filesystem::exists(archive / "format"));
        CHECK(std::filesystem::exists(archive / "notes"));
    }
}
