#include <catch2/catch.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/generated_logs.hpp>
#include <tests/tools/real_logs.hpp>

#include <chrono>
#include <thread>

/// `chainbase-driver generate` as it is called.
using namespace chainbase::test;

namespace {

std::vector<std::string> call_for(const std::filesystem::path& to, std::vector<std::string> more) {
    std::vector<std::string> call{"generate", "--to", to.string(), "--json"};
    call.insert(call.end(), more.begin(), more.end());
    return call;
}

} // namespace

TEST_CASE("generate makes a log that replay takes, and its branches") {
    const temporary_folder folder;
    const auto log = folder / "log";
    const driver_run run =
        run_driver(call_for(log, {"--operations", "20000", "--seed", "5", "--forks", "10",
                                  "--fork-depth", "4", "--bad-forks", "50"}));
    REQUIRE(run.code() == 0);
    CHECK(run.json()["operations"] == 20'000);
    CHECK(run.json()["branches"] > 5);
    CHECK(run.json()["bytes"] == std::filesystem::file_size(log));
    CHECK(std::filesystem::exists(folder / "log.forks"));
    CHECK(std::filesystem::exists(folder / "log.index"));
    const driver_run replayed = run_driver(
        {"replay", "--block-log", log, "--state", folder / "state", "--verify", "--json"});
    REQUIRE(replayed.code() == 0);
    CHECK(replayed.json()["operations"] == 20'000);
}

TEST_CASE("generate overwrites neither a log nor its branches") {
    const temporary_folder folder;
    const auto log = folder / "log";
    write_file(log, "mine");
    CHECK(run_driver(call_for(log, {"--operations", "1000"})).code() == 2);
    CHECK(read_file(log) == "mine");
    write_file(folder / "other.forks", "mine");
    const driver_run run =
        run_driver(call_for(folder / "other", {"--operations", "1000", "--forks", "5"}));
    CHECK(run.code() == 2);
    CHECK(run.says("other.forks"));
    CHECK(read_file(folder / "other.forks") == "mine");
    CHECK_FALSE(std::filesystem::exists(folder / "other"));
    CHECK_FALSE(std::filesystem::exists(folder / "other.unfinished"));
}

TEST_CASE("generate that is interrupted leaves nothing") {
    const temporary_folder folder;
    driver_process process(call_for(
        folder / "log", {"--operations", "1000000000", "--forks", "5", "--accounts", "99"}));
    while (!std::filesystem::exists(folder / "log.unfinished") && process.is_running())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    process.send(SIGINT);
    const driver_run run = process.wait();
    CHECK(run.code() == 3);
    CHECK(run.json()["interrupted"] == true);
    CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("generate without one task, or with numbers that are none, is a wrong call") {
    const temporary_folder folder;
    const generated_log log(payments_chain(1'000, 1));
    const std::vector<std::vector<std::string>> calls{
        {},
        {"--operations", "0"},
        {"--operations", "-5"},
        {"--operations", "1000", "--compare", "x"},
        {"--operations", "1000", "--skew", "1.5"},
        {"--operations", "1000", "--skew", "x"},
        {"--operations", "1000", "--skew", "0.1234"},
        {"--operations", "1000", "--mix", "vote=1"},
        {"--operations", "1000", "--forks", "101"},
        {"--operations", "1000", "--fork-depth", "0"},
        {"--operations", "1000", "--accounts", "501"},
        {"--operations", "1000", "--chain", "swap"},
        {"--forks-of", "x"},
        {"--operations", "1000", "--bad-forks", "5"},
        {"--operations", "1000", "--fork-depth", "5"},
        {"--operations", "1000", "--chain", "payments", "--mix", "vote=1"},
        {"--operations", "1000", "--chain", "payments", "--cash-out-percent", "5"},
        {"--operations", "1000", "--chain", "payments", "--paid-percent", "5"},
        {"--operations", "1000", "--paid-percent", "101"},
        {"--forks-of", log.path(), "--forks", "5", "--mix", "custom=1"},
        {"--forks-of", log.path(), "--forks", "5", "--cash-out-percent", "5"},
        {"--forks-of", log.path(), "--forks", "5", "--skew", "0"},
        {"--forks-of", log.path(), "--forks", "5", "--accounts", "20"},
    };
    for (const auto& more : calls) {
        const driver_run run = run_driver(call_for(folder / "log", more));
        INFO(run.err);
        CHECK(run.code() == 2);
        CHECK(std::filesystem::is_empty(folder.path()));
    }
    CHECK(run_driver({"generate", "--operations", "1000"}).code() == 2);
    for (const char* option : {"--seed", "--forks", "--accounts"})
        CHECK(run_driver({"generate", "--compare", log.path(), option, "5"}).code() == 2);
    CHECK(run_driver({"generate", "--fit", log.path(), "--json"}).code() == 2);
}

TEST_CASE("generate compares a log, and makes branches of one") {
    const temporary_folder folder;
    const real_log real("eos-swap-2022");
    const driver_run forks = run_driver(
        call_for(folder / "forks", {"--forks-of", real.path(), "--forks", "1", "--seed", "9"}));
    REQUIRE(forks.code() == 0);
    CHECK(forks.json()["branches"] > 100);
    CHECK(run_driver({"generate", "--compare", real.path()}).code() == 2);

    REQUIRE(run_driver(call_for(folder / "log", {"--operations", "5000"})).code() == 0);
    const driver_run compared = run_driver({"generate", "--compare", folder / "log", "--json"});
    REQUIRE(compared.code() == 0);
    CHECK(compared.json()["operations"] == 5'000);
    CHECK(compared.json()["distributions"]["post_votes"]["generated"]["count"] > 10);
    CHECK(run_driver({"generate", "--compare", folder / "none"}).code() == 1);
}
