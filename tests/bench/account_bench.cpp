// The contract of `chainbase-bench account`: what it prints and how it ends. Figures are checked
// for being figures, never for being fast.

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/bench/bench_program.hpp>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <set>
#include <string>

using chainbase::bench::outcome;
using chainbase::bench::run_bench;

namespace {

nlohmann::json run_account(const std::string& arguments) {
    const outcome result = run_bench("account --objects 2000 --rounds 1 --json " + arguments);
    REQUIRE(result.exit_code == 0);
    return nlohmann::json::parse(result.output);
}

std::set<std::string> operations_of(const nlohmann::json& report, const std::string& engine) {
    std::set<std::string> operations;
    for (const auto& row : report.at("rows"))
        if (row.at("engine") == engine)
            CHECK(operations.insert(row.at("operation").get<std::string>()).second);
    return operations;
}

const std::set<std::string> plain_operations = {
    "create",        "find_by_id",
    "find_by_name",  "modify",
    "modify_key",    "remove",
    "iterate_by_id", "iterate_by_name",
    "object_bytes",  "object_bytes_after_third_removed"};

const std::set<std::string> session_operations = {
    "session_create",   "session_modify", "session_modify_key", "session_remove",
    "undo_create",      "undo_modify",    "undo_modify_key",    "undo_remove",
    "squash",           "commit_modify",  "commit_remove",      "commit_call",
    "empty_session",    "session_3_undo", "session_3_squash",   "session_3_commit",
    "undo_bytes_modify"};

/// What only an engine with an undo log of its own can tell, or do.
const std::set<std::string> engine_operations = {"undo_bytes_create", "undo_bytes_modify_key",
                                                 "undo_bytes_remove", "object_bytes_after_compact"};

template <typename... Sets>
std::set<std::string> together(const Sets&... sets) {
    std::set<std::string> result;
    (result.insert(sets.begin(), sets.end()), ...);
    return result;
}

const std::set<std::string> hashed_operation = {"find_by_name_hashed"};

} // namespace

TEST_CASE("the account report names every row that its engines can do") {
    const nlohmann::json report = run_account("--engines classical,heap");
    CHECK(operations_of(report, "classical") ==
          together(plain_operations, hashed_operation, session_operations));
    CHECK(operations_of(report, "heap") == together(plain_operations, hashed_operation));
}

TEST_CASE("the account report has the keys and values of its contract") {
    const nlohmann::json report = run_account("--engines classical,heap");
    CHECK(report.at("bench") == "account");
    CHECK(report.at("objects") == 2000);
    for (const char* key : {"cpu", "cores", "memory", "kernel", "compiler", "huge_pages"})
        CHECK(report.at("machine").contains(key));
    for (const auto& row : report.at("rows")) {
        INFO(row.dump());
        const bool is_bytes =
            row.at("operation").get<std::string>().find("bytes") != std::string::npos;
        CHECK(row.at("metric") == (is_bytes ? "bytes" : "ns"));
        CHECK(std::isfinite(row.at("value").get<double>()));
        CHECK(row.at("value").get<double>() > 0);
    }
}

TEST_CASE("the engine does every row with 60 types beside it") {
    const nlohmann::json report = run_account("--engines chainbase,classical --types 60");
    CHECK(operations_of(report, "chainbase") ==
          together(plain_operations, hashed_operation, session_operations, engine_operations));
    CHECK(operations_of(report, "classical") ==
          together(plain_operations, hashed_operation, session_operations));
    for (const auto& row : report.at("rows")) {
        INFO(row.dump());
        CHECK(row.at("value").get<double>() >= 0);
    }
}

TEST_CASE("every other baseline does the plain rows and gives right results") {
    const nlohmann::json report =
        run_account("--engines offset_ptr_pool,node_allocator,adaptive_pool,lmdb,rocksdb");
    for (const char* engine : {"offset_ptr_pool", "node_allocator", "adaptive_pool", "rocksdb"})
        CHECK(operations_of(report, engine) == plain_operations);
    auto with_sessions = together(plain_operations, session_operations);
    with_sessions.erase("undo_bytes_modify");
    CHECK(operations_of(report, "lmdb") == with_sessions);
}

TEST_CASE("a wrong call of the bench ends with 2 and prints no report") {
    for (const char* arguments :
         {"", "nonsense", "account --engines nobody", "account --objects many",
          "account --rounds 0", "account --rounds -1", "account --rounds 0x1",
          "account --objects 2000 --directory /nonexistent"}) {
        INFO(arguments);
        const outcome result = run_bench(arguments);
        CHECK(result.exit_code == 2);
        CHECK(result.output.empty());
    }
}

TEST_CASE("a bench that cannot make its files ends with 1 and leaves nothing behind") {
    const outcome result = run_bench("account --objects 2000 --engines heap --directory /proc");
    CHECK(result.exit_code == 1);
    CHECK(result.output.empty());
}

TEST_CASE("a report that stdout does not take ends with 1") {
    const std::string call = "account --objects 2000 --rounds 1 --engines heap >/dev/full";
    CHECK(run_bench(call).exit_code == 1);
    CHECK(run_bench(call + " --json").exit_code == 1);
}

TEST_CASE("the bench removes its files") {
    const auto folder = std::filesystem::temp_directory_path() /
                        ("chainbase-bench-test-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
    run_account("--engines classical,lmdb --directory " + folder.string());
    CHECK(std::filesystem::is_empty(folder));
    std::filesystem::remove_all(folder);
}

TEST_CASE("the account bench also prints a table") {
    const outcome result =
        run_bench("account --objects 2000 --rounds 1 --engines classical,heap --types 2");
    CHECK(result.exit_code == 0);
    for (const char* text : {"classical", "heap", "find_by_name_hashed", "(1.00)", "(0.10)"})
        CHECK(result.output.find(text) != std::string::npos);
}
