// The contract of `chainbase-bench crash` on a small state: every row of every engine, each of
// which came back to its last complete block (the program checks that itself).

#include <nlohmann/json.hpp>
#include <tests/bench/bench_program.hpp>

#include <map>
#include <set>
#include <string>

using namespace chainbase::bench;

namespace {

using rows_of_engines = std::map<std::string, std::set<std::string>>;

rows_of_engines crash_rows(const std::string& arguments) {
    const outcome result =
        run_bench("crash --objects 4000 --payments 50 --blocks 12 --rounds 1 --json" + arguments);
    REQUIRE(result.exit_code == 0);
    const nlohmann::json report = nlohmann::json::parse(result.output);
    CHECK(report.at("bench") == "crash");
    CHECK(report.at("objects") == 4000);
    rows_of_engines all;
    for (const auto& row : report.at("rows")) {
        INFO(row.dump());
        CHECK(row.at("value").get<double>() > 0);
        CHECK(row.at("samples").size() == 1);
        CHECK(all[row.at("engine")].insert(row.at("operation")).second);
    }
    return all;
}

} // namespace

TEST_CASE("the crash report names every row of every engine") {
    rows_of_engines all = crash_rows("");
    const std::set<std::string> common{"block", "written_bytes_per_block", "reopen_after_kill",
                                       "close_clean", "open_clean"};
    for (const char* engine : {"lmdb_sync", "lmdb_nosync", "rocksdb_sync", "rocksdb_nosync",
                               "sqlite_full", "sqlite_normal"})
        CHECK(all.at(engine) == common);
    std::set<std::string> synced = common;
    synced.insert("restore_per_gib");
    for (const char* engine : {"chainbase_commit", "chainbase_synced"})
        CHECK(all.at(engine) == synced);
    std::set<std::string> own = synced;
    own.insert({"checkpoint_pause_per_100_mib", "checkpoint_per_100_mib",
                "checkpoint_bytes_to_dirty", "barrier_cold", "barrier_hot"});
    CHECK(all.at("chainbase") == own);
    for (const char* row : {"block", "reopen_after_kill", "close_clean", "open_clean"})
        CHECK(all.at("chainbase_process").contains(row));
}

TEST_CASE("the crash bench also prints a table with goals") {
    const outcome result = run_bench("crash --objects 4000 --payments 50 --blocks 12 --rounds 1 "
                                     "--engines chainbase,sqlite_full");
    CHECK(result.exit_code == 0);
    for (const char* text : {"crash: 4000 accounts", "reopen_after_kill", "restore_per_gib", "met"})
        CHECK(result.output.find(text) != std::string::npos);
}

TEST_CASE("a wrong call of the crash bench ends with 2 and prints no report") {
    for (const char* arguments : {"crash --engines nobody", "crash --objects 1000 --payments 501",
                                  "crash --blocks 0", "crash --memory /nonexistent"}) {
        INFO(arguments);
        const outcome result = run_bench(arguments);
        CHECK(result.exit_code == 2);
        CHECK(result.output.empty());
    }
}
