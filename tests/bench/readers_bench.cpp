// The contract of `chainbase-bench readers`: every row, and a refusal without an inspector.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/bench/bench_program.hpp>

#include <set>
#include <string>

using namespace chainbase::bench;

TEST_CASE("the readers report names every setting") {
    const auto result = run_bench("readers --objects 1000 --readers 2 --milliseconds 50 --rounds 1 "
                                  "--inspect " CHAINBASE_INSPECT_PROGRAM " --json");
    REQUIRE(result.exit_code == 0);
    const auto report = nlohmann::json::parse(result.output);
    CHECK(report.at("bench") == "readers");
    std::set<std::string> all;
    for (const auto& row : report.at("rows")) {
        CHECK(row.at("value").get<double>() > 0);
        all.insert(row.at("operation"));
    }
    for (const std::string setting : {"alone", "pausing", "low_priority", "busy"}) {
        CHECK(all.count("block_" + setting) == 1);
        CHECK(all.count("block_lock_" + setting) == 1);
        CHECK(all.count("block_to_alone_" + setting) == (setting == "alone" ? 0 : 1));
    }
}

TEST_CASE("the readers bench needs an inspector that can look at its state") {
    CHECK(run_bench("readers --objects 1000 --milliseconds 10 --inspect /bin/false").exit_code ==
          2);
}
