// bisect of what a disk or a program changed: objects, lists of roots, the archive.
#include <catch2/catch.hpp>
#include <tests/support/archive_files.hpp>
#include <tests/support/checkpoints_on_disk.hpp>
#include <tests/tools/real_logs.hpp>
#include <tests/tools/two_runs.hpp>

#include <filesystem>
#include <string>

using namespace chainbase::test;
using Catch::Matchers::Contains;
using nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("bisect finds a flipped bit in an object that no block touched since") {
    two_runs runs(deposits(), deposits());
    runs.replay("a");
    runs.replay("b");
    runs.flip_a_bit();
    const json found = runs.bisect(5);
    CHECK(found["differs"].is_null());
    CHECK(found["a"]["fault_count"] == 0);
    CHECK(found["b"]["fault_count"] == 1);
    CHECK(found["b"]["faults"][0]["kind"] == "other_content");
    CHECK(found["b"]["faults"][0]["type"] == "account");
    CHECK(found["b"]["faults"][0]["id"] == 5);
    REQUIRE(found["objects"].size() == 1);
    CHECK(found["objects"][0]["type"] == "account");
    CHECK(found["objects"][0]["id"] == 5);
    CHECK(found["objects"][0]["fields"] == json{"created"});
}

TEST_CASE("bisect finds a flipped bit at the block that touched its object next") {
    two_runs runs(deposits(), deposits());
    runs.replay("a", {"--stop-at", "35"});
    runs.replay("b", {"--stop-at", "27"});
    runs.flip_a_bit();
    runs.replay("b", {"--stop-at", "35"}); // which deposits to account 5
    const json found = runs.bisect(5);
    CHECK(found["differs"]["block"] == 35);
    CHECK(found["differs"]["same_writes"] == false);
    REQUIRE(found["different_objects"] == 1);
    CHECK(found["objects"][0]["type"] == "account");
    CHECK(found["objects"][0]["id"] == 5);
    CHECK(found["objects"][0]["fields"] == json{"created"});
}

TEST_CASE("bisect finds a flipped bit when the other one is a file of roots") {
    two_runs runs(deposits(), deposits());
    runs.replay("a");
    runs.replay("b");
    const auto file = runs.folder("roots").string();
    write_file(file, run_driver({"roots", runs.folder("a").string()}).out);
    runs.flip_a_bit();
    const driver_run run = run_driver({"bisect", runs.folder("b").string(), file, "--json"});
    REQUIRE(run.code() == 5);
    const json found = run.json();
    CHECK(found["differs"].is_null());
    CHECK(found["a"]["faults"][0]["id"] == 5);
    CHECK(found["b"]["objects_looked_at"].is_null());
}

TEST_CASE("bisect tells the roots that were kept from those of the trees") {
    two_runs runs(deposits(), deposits());
    runs.replay("a");
    runs.replay("b");
    SECTION("in between") {
        runs.flip_a_root("b", 20);
        const json found = runs.bisect(5);
        CHECK(found["differs"]["block"] == 20);
        CHECK(found["differs"]["same_again"] == 21);
        CHECK(found["different_objects"] == 0);
        CHECK_THAT(runs.text(), Contains("from block 21 on they are the same again"));
    }
    SECTION("the last one") {
        runs.flip_a_root("b", last_block);
        const json found = runs.bisect(5);
        CHECK(found["differs"]["block"] == last_block);
        CHECK(found["different_objects"] == 0);
        CHECK(found["a"]["fault_count"] == 0);
        REQUIRE(found["b"]["fault_count"] == 1);
        CHECK(found["b"]["faults"][0]["kind"] == "block_root");
    }
}

TEST_CASE("bisect names objects whose rows in the archive cannot be read") {
    const real_log log("steem-2016");
    REQUIRE(run_driver(log.replay({"--state-root", "all"}, "a")).code() == 0);
    fs::copy(log.state("a"), log.state("b"), fs::copy_options::recursive);
    const fs::path rows = largest_table_file(fs::path(log.state("b")) / "archive");
    flip_bit(rows, 8 * (fs::file_size(rows) / 2));
    const driver_run run = run_driver({"bisect", log.state("a"), log.state("b"), "--json"});
    INFO(run.err << run.out);
    REQUIRE(run.code() == 5);
    const json found = run.json();
    CHECK(found["differs"].is_null());
    CHECK(found["a"]["fault_count"] == 0);
    CHECK(found["a"]["objects_looked_at"] == found["b"]["objects_looked_at"]);
    const json& faults = found["b"]["faults"];
    REQUIRE_FALSE(faults.empty());
    for (const json& one : faults) {
        CHECK(one["kind"] == "unreadable");
        CHECK_THAT(one["what"].get<std::string>(), Contains("Corruption"));
    }
    CHECK(found["objects"].size() == faults.size());
    for (const json& one : found["objects"]) {
        CHECK(one["a"].is_object());
        CHECK(one["b"].is_null());
        CHECK_THAT(one["unreadable"].at(0).get<std::string>(), Contains("Corruption"));
    }
}
