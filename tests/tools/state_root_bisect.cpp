// Two runs that are not the same: the block, the object and the field are found.
#include <catch2/catch.hpp>
#include <tests/tools/two_runs.hpp>

#include <filesystem>
#include <string>
#include <vector>

using namespace chainbase::test;
using Catch::Matchers::Contains;
using nlohmann::json;

TEST_CASE("of two runs of the same blocks bisect finds nothing") {
    two_runs runs(deposits(), deposits());
    runs.replay("a");
    runs.replay("b", {"--stop-at", "40"});
    const json found = runs.bisect(0);
    CHECK(found["same"] == true);
    CHECK(found["first_compared_block"] == 1);
    CHECK(found["last_compared_block"] == 40);
    runs.replay("b");
    CHECK(runs.bisect(0)["last_compared_block"] == last_block);
    CHECK_THAT(runs.text(), Contains("the roots of blocks 1 to 60 are the same") &&
                                Contains("11 objects of a were looked at"));
}

TEST_CASE("bisect finds the block that was another one and the object and the field") {
    two_runs runs(deposits(), deposits(33, 1));
    runs.replay("a");
    runs.replay("b");
    json found = runs.bisect(5);
    CHECK(found["differs"]["block"] == 33);
    CHECK(found["differs"]["same_writes"] == false);
    std::filesystem::remove_all(runs.folder("a"));
    std::filesystem::remove_all(runs.folder("b"));
    runs.replay("a", {"--stop-at", "33"});
    runs.replay("b", {"--stop-at", "33"});
    found = runs.bisect(5);
    CHECK(found["differs"]["block"] == 33);
    std::vector<std::string> differ;
    for (const json& one : found["objects"])
        for (const json& field : one["fields"])
            differ.push_back(one["type"].get<std::string>() + ' ' + one["id"].dump() + ' ' +
                             field.get<std::string>());
    CHECK(differ == std::vector<std::string>{"account 3 balance", "global 0 deposited"});
    CHECK(found["objects"][0]["a"]["balance"].get<int>() + 1 ==
          found["objects"][0]["b"]["balance"]);
    CHECK_THAT(runs.text(), Contains("account 3\n    balance: "));
}

TEST_CASE("bisect compares files of roots too") {
    two_runs runs(deposits(), deposits(50, 7));
    runs.replay("a");
    runs.replay("b");
    const auto file = runs.folder("roots").string();
    write_file(file, run_driver({"roots", runs.folder("b").string()}).out);
    const driver_run run = run_driver({"bisect", runs.folder("a").string(), file, "--json"});
    REQUIRE(run.code() == 5);
    CHECK(run.json()["differs"]["block"] == 50);
    CHECK(run.json()["objects"].empty());
    const driver_run same = run_driver({"bisect", file, file});
    CHECK(same.code() == 0);
}

TEST_CASE("bisect refuses what has no blocks in common") {
    two_runs runs(deposits(), deposits());
    runs.replay("a", {"--keep-roots", "5", "--stop-at", "30"});
    runs.replay("b", {"--keep-roots", "5"});
    const driver_run run =
        run_driver({"bisect", runs.folder("a").string(), runs.folder("b").string()});
    CHECK(run.code() == 2);
    CHECK_THAT(run.err, Contains("blocks 26 to 30") && Contains("blocks 56 to 60"));
    const driver_run none =
        run_driver({"bisect", runs.folder("a").string(), runs.folder("none").string()});
    CHECK(none.code() == 2);
    CHECK_THAT(none.err, Contains(runs.folder("none").string()));
}

TEST_CASE("as many objects are named as are asked for") {
    two_runs runs(deposits(), deposits(60, 5));
    runs.replay("b");
    runs.replay("a");
    const driver_run run = run_driver({"bisect", runs.folder("a").string(),
                                       runs.folder("b").string(), "--json", "--objects", "1"});
    CHECK(run.code() == 5);
    CHECK(run.json()["different_objects"] == 2);
    CHECK(run.json()["objects"].size() == 1);
}
