#include <catch2/catch.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/real_logs.hpp>

#include <cstdlib>

/// The import that a user calls, over the tables that the logs of the project were made from.
using namespace chainbase::test;
using nlohmann::json;

TEST_CASE("the driver imports the source tables into a log that it replays to the known state") {
    const char* source = std::getenv("CHAINBASE_SOURCE_DATA");
    if (source == nullptr) {
        WARN("skipped: CHAINBASE_SOURCE_DATA names no folder with the source tables");
        return;
    }
    const auto [chain, blocks, operations] = GENERATE(table<std::string, int, int>(
        {{"steem-2016", 162'689, 274'113}, {"eos-swap-2022", 81'069, 146'145}}));
    const temporary_folder folder;
    const std::string from = std::filesystem::path(source) / chain;
    const std::string log = folder / "log";
    const driver_run imported =
        run_driver({"import", chain, "--from", from, "--to", log, "--json"});
    INFO(imported.err);
    REQUIRE(imported.code() == 0);
    const json said = imported.json();
    CHECK(said["chain"] == chain);
    CHECK(said["blocks"] == blocks);
    CHECK(said["operations"] == operations);
    CHECK(said["bytes"] == std::filesystem::file_size(log));
    const driver_run replayed =
        run_driver({"replay", "--block-log", log, "--state", folder / "state", "--json"});
    REQUIRE(replayed.code() == 0);
    CHECK(replayed.json()["state_digest"] == digest_at_end(chain));
}
