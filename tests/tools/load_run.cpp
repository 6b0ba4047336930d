#include <catch2/catch.hpp>
#include <stdlib.h>
#include <tests/tools/driver_process.hpp>

#include <sstream>

/// Short measurements by the driver's process, and the files they write.
using namespace chainbase::test;
using nlohmann::json;

namespace {

/// While it lives, programs are looked for nowhere.
struct without_programs {
    std::string before = ::getenv("PATH") ? ::getenv("PATH") : "";
    without_programs() { ::setenv("PATH", "/nonexistent", 1); }
    ~without_programs() { ::setenv("PATH", before.c_str(), 1); }
};

std::vector<std::string> short_load(const temporary_folder& to, const std::string& workload) {
    return {"load",         "--workload", workload,     "--accounts",    "200",
            "--start-rate", "1000",       "--step",     "500",           "--last-rate",
            "1500",         "--seconds",  "1",          "--interval-ms", "200",
            "--json",       "--to",       to / "files", "--state",       to / "state"};
}

/// Rows of a CSV file, without its header; each has as many columns as that.
std::vector<std::string> rows_of(const std::string& csv) {
    std::istringstream in(csv);
    std::string header, row;
    std::getline(in, header);
    std::vector<std::string> rows;
    while (std::getline(in, row)) {
        CHECK(std::ranges::count(row, ',') == std::ranges::count(header, ','));
        rows.push_back(row);
    }
    return rows;
}

} // namespace

TEST_CASE("a measurement raises the rate to the last one and writes all of its files") {
    const std::string workload = GENERATE("payments", "social");
    const temporary_folder to;
    const driver_run run = run_driver(short_load(to, workload));
    INFO(run.err);
    REQUIRE(run.code() == 0);
    const json said = run.json();
    CHECK(said == json::parse(read_file(to / "files/load.json")));
    CHECK(said["workload"] == workload);
    REQUIRE(said["steps"].size() >= 1);
    const json& first = said["steps"][0];
    CHECK(first["rate"] == 1000);
    CHECK(first["rejected"] == 0);
    if (first["sustained"].get<bool>()) {
        CHECK(first["offered"] == 1000);
        CHECK(first["completed"] == 1000);
    }
    CHECK(first["transactions"]["p50_ms"] <= first["transactions"]["max_ms"]);
    CHECK(first["readers"]["count"] > 0);
    CHECK(rows_of(read_file(to / "files/load.csv")).size() >= 2);
    if (run.says("no gnuplot"))
        WARN("no gnuplot: the plot was not looked at");
    else
        CHECK(read_file(to / "files/load.svg").find("</svg>") != std::string::npos);
    CHECK(std::filesystem::exists(to / "state"));
}

TEST_CASE("a measurement stops at the first rate that is not sustained") {
    const driver_run run =
        run_driver({"load", "--accounts", "200", "--start-rate", "30000000", "--step", "1",
                    "--seconds", "1", "--interval-ms", "1", "--json"});
    INFO(run.err);
    REQUIRE(run.code() == 0);
    const json said = run.json();
    CHECK(said["steps"].size() == 1);
    CHECK_FALSE(said["steps"][0]["sustained"].get<bool>());
    CHECK(said["steps"][0]["failed"].get<std::string>().size() > 0);
    CHECK(said["sustained"].is_null());
    CHECK(said["sustained_rate"] == 0);
}

TEST_CASE("without gnuplot there are figures and a word on the plot") {
    const temporary_folder to;
    const without_programs none;
    const driver_run run = run_driver(short_load(to, "payments"));
    CHECK(run.code() == 0);
    CHECK(run.says("no gnuplot"));
    CHECK(rows_of(read_file(to / "files/load.csv")).size() >= 2);
    CHECK_FALSE(std::filesystem::exists(to / "files/load.svg"));
}

TEST_CASE("a measurement overwrites neither files nor a state") {
    const temporary_folder to;
    std::filesystem::create_directories(to / "files");
    write_file(to / "files/load.json", "mine");
    const driver_run files = run_driver(short_load(to, "payments"));
    CHECK(files.code() == 2);
    CHECK(files.says("load.json exists already"));
    CHECK(read_file(to / "files/load.json") == "mine");
    std::filesystem::remove(to / "files/load.json");
    std::filesystem::create_directories(to / "state");
    const driver_run state = run_driver(short_load(to, "payments"));
    CHECK(state.code() == 2);
    CHECK(state.says("exists already"));
    CHECK(std::filesystem::is_empty(to / "state"));
}
