// The contract of `chainbase-bench archive` on a short chain: every row, of chains that came to the
// same state (the program checks that itself).

#include <nlohmann/json.hpp>
#include <tests/bench/bench_program.hpp>

#include <set>
#include <string>

using namespace chainbase::bench;

namespace {

const std::string small = "archive --rows 10000 --finds 500 --cache-mib 64 --rounds ";

} // namespace

TEST_CASE("the archive report names every row of both chains") {
    const outcome result = run_bench(small + "2 --json");
    REQUIRE(result.exit_code == 0);
    const nlohmann::json report = nlohmann::json::parse(result.output);
    CHECK(report.at("bench") == "archive");
    CHECK(report.at("archived").get<int>() > 100);
    std::set<std::string> kept;
    std::set<std::string> archived;
    for (const auto& row : report.at("rows")) {
        INFO(row.dump());
        CHECK(row.at("value").get<double>() > 0);
        CHECK(row.at("samples").size() == 2);
        CHECK((row.at("engine") == "kept" ? kept : archived).insert(row.at("operation")).second);
    }
    CHECK(kept == std::set<std::string>{"replay", "state_bytes"});
    std::set<std::string> all{"replay",           "state_bytes",           "replay_to_kept",
                              "memory_to_kept",   "disk_to_encoded",       "encoded_bytes",
                              "find_cold_blocks", "find_by_id_cold_blocks"};
    for (const std::string find :
         {"find_warm", "find_by_id_warm", "find_nowhere", "find_cold", "find_by_id_cold"})
        all.insert({find, find + "_p99", find + "_p99_9"});
    CHECK(archived == all);
}

TEST_CASE("the archive bench takes the mix of its log, which has comments") {
    const outcome result =
        run_bench(small + "1 --json --mix custom=62,vote=25,comment=8,transfer=5");
    REQUIRE(result.exit_code == 0);
    CHECK(nlohmann::json::parse(result.output).at("archived") > 100);
    CHECK(run_bench(small + "1 --mix custom=1").exit_code == 2);
    CHECK(run_bench(small + "1 --mix posts=1").exit_code == 2);
}

TEST_CASE("the archive bench also prints a table with goals") {
    const outcome result = run_bench(small + "1");
    CHECK(result.exit_code == 0);
    for (const char* text : {"archived comments", "memory_to_kept", "find_nowhere", "0.150"})
        CHECK(result.output.find(text) != std::string::npos);
}
