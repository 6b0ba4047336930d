// The contract of `chainbase-bench root`: every row, and nothing left behind.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/bench/bench_program.hpp>
#include <tests/support/scratch_state.hpp>

#include <filesystem>
#include <map>
#include <string>

using namespace chainbase::bench;

namespace {

std::map<std::string, double> rows_of(const outcome& result) {
    REQUIRE(result.exit_code == 0);
    const auto report = nlohmann::json::parse(result.output);
    CHECK(report.at("bench") == "root");
    CHECK(report.at("objects") == 100'000);
    std::map<std::string, double> all;
    for (const auto& row : report.at("rows"))
        all[row.at("operation")] = row.at("value");
    return all;
}

} // namespace

TEST_CASE("the root report has every row and leaves nothing behind") {
    const chainbase::test::scratch_folder folder;
    const auto rows = rows_of(run_bench("root --objects 100000 --operations 3000 --rounds 1 --json "
                                        "--directory " +
                                        folder.path().string()));
    for (const char* name : {"build",
                             "inner_node_ratio",
                             "node_bytes_ratio",
                             "node_bytes_per_object",
                             "bytes_per_object",
                             "bytes_per_object_after_updates",
                             "update_50000_one_thread",
                             "update_50000_two_threads",
                             "update_50000_one_thread_allocations",
                             "update_50000_two_threads_allocations",
                             "update_800_one_thread",
                             "update_800_two_threads",
                             "prove",
                             "prove_p99",
                             "verify",
                             "verify_p99",
                             "proof_bytes",
                             "proof_bytes_largest",
                             "root_from_scratch",
                             "diff_1",
                             "diff_1000",
                             "replay_with_root",
                             "replay_without_root",
                             "replay_with_root_to_without"}) {
        INFO(name);
        REQUIRE(rows.count(name) == 1);
        CHECK(rows.at(name) > 0);
    }
    // The tree depends on the number of objects alone.
    CHECK(rows.at("inner_node_ratio") < 0.5);
    CHECK(rows.at("bytes_per_object") > rows.at("node_bytes_per_object"));
    CHECK(rows.at("proof_bytes_largest") >= rows.at("proof_bytes"));
    CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("the root bench replays nothing where it is told so") {
    const auto rows = rows_of(run_bench("root --objects 100000 --operations 0 --rounds 1 --json"));
    CHECK(rows.count("diff_1") == 1);
    CHECK(rows.count("replay_with_root") == 0);
    CHECK(run_bench("root --objects 1000").exit_code == 2);
}
