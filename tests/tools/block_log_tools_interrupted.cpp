#include <pool_allocator/error.hpp>
#include <tools/driver/block_log_tools/log_making.hpp>
#include <tools/driver/block_log_tools/log_reading.hpp>
#include <tools/driver/block_log_tools/log_repair.hpp>
#include <tools/driver/block_log_tools/log_verification.hpp>
#include <tools/driver/log_progress.hpp>
#include <tools/interruption.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/file_size_limit.hpp>
#include <tests/tools/real_logs.hpp>
#include <tests/tools/sample_blocks.hpp>

#include <chrono>
#include <csignal>
#include <thread>

/// Signals, kills and full disks while logs are made: nothing half done has a name that promises
/// more.
using namespace chainbase;
using namespace chainbase::driver;
using namespace chainbase::test;

namespace {

/// Calls each of the tools that make a log from a log of several records, and leave nothing else
/// in the folder when that fails.
template <class Check>
void call_each(const temporary_folder& folder, Check check) {
    log_progress shown("testing");
    const auto log = folder / "log";
    check([&] { (void)trim_log(log, folder / "made", {}, shown); });
    check([&] { (void)trim_log(log, folder / "made", {1004, UINT64_MAX}, shown); });
    check([&] { (void)merge_logs({folder / "made", {log}, false}, shown); });
    check([&] { (void)split_log({log, folder / "made", {}, 7}, shown); });
    check([&] { (void)salvage_log({log, folder / "made", {}}, shown); });
    check([&] { (void)salvage_log({log, {}, folder / "made"}, shown); });
}

std::size_t files_in(const temporary_folder& folder) {
    const std::filesystem::directory_iterator all(folder.path());
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

} // namespace

TEST_CASE("a signal ends the reading of a log that has no index") {
    const temporary_folder folder;
    write_log(folder / "log", sample_blocks(50), 100);
    std::filesystem::remove(folder / "log.index");
    const captured_log quiet;
    {
        const catch_interruption signals;
        std::raise(SIGTERM);
        CHECK_THROWS_AS(open_log(folder / "log"), interrupted_error);
    }
    CHECK(files_in(folder) == 2);
    const catch_interruption signals;
    CHECK(open_log(folder / "log").count() == 50);
    CHECK(files_in(folder) == 3);
}

TEST_CASE("a signal ends each tool, and what it had made is gone") {
    const temporary_folder folder;
    write_log(folder / "log", sample_blocks(50), 100);
    {
        const catch_interruption signals;
        std::raise(SIGTERM);
        call_each(folder, [&](auto&& work) {
            CHECK_THROWS_AS(work(), interrupted_error);
            CHECK(files_in(folder) == 3); // the log, its index and its mark
        });
        log_progress shown("testing");
        CHECK_THROWS_AS(verify_log(folder / "log", false, shown), interrupted_error);
    }
    const catch_interruption forgets_it;
}

TEST_CASE("on a full disk each tool says so, and what it had made is gone") {
    const temporary_folder folder;
    const auto blocks = sample_blocks(50);
    write_log(folder / "log", blocks, 100);
    const auto size = std::filesystem::file_size(folder / "log");
    const captured_log said; // stderr may be a file, too
    for (const std::uint64_t room : {std::uint64_t{30}, std::uint64_t{100}, size / 8}) {
        const file_size_limit limit(room);
        call_each(folder, [&](auto&& work) {
            CHECK_THROWS_AS(work(), out_of_space_error);
            CHECK(files_in(folder) == 3);
        });
    }
    call_each(folder, [&](auto&& work) {
        CHECK_NOTHROW(work());
        std::filesystem::remove_all(folder / "made");
        std::filesystem::remove(index_path(folder / "made"));
        std::filesystem::remove(synced_path(folder / "made"));
    });
    CHECK(read_log(folder / "log") == blocks);
}

TEST_CASE("killed in the middle of a split, no folder of that name exists, and the call goes on") {
    const real_log log("steem-2016");
    const std::filesystem::path made = log.state("made");
    const std::filesystem::path part = log.state("part"); // all of it takes too long
    log_progress shown("testing");
    (void)trim_log(log.path(), part, {0, 30'000}, shown);
    const std::vector<std::string> call{"block-log", "split",       part, "--every",
                                        "400",       "--to-folder", made, "--json"};
    const auto start_and = [&](int signal) {
        driver_process process(call);
        const auto unfinished = made.string() + ".unfinished";
        const auto enough = [&] { // some pieces are complete, many are not
            return std::filesystem::exists(unfinished) &&
                   std::distance(std::filesystem::directory_iterator(unfinished), {}) > 3;
        };
        while (!enough() && process.is_running())
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        process.send(signal);
        return process.wait();
    };
    const driver_run interrupted = start_and(SIGTERM);
    CHECK(interrupted.code() == 3);
    CHECK(interrupted.says("interrupted while copying"));
    CHECK(interrupted.out.empty());
    CHECK_FALSE(std::filesystem::exists(made));
    CHECK_FALSE(std::filesystem::exists(made.string() + ".unfinished"));
    CHECK(start_and(SIGKILL).was_killed());
    CHECK_FALSE(std::filesystem::exists(made));
    CHECK(std::filesystem::exists(made.string() + ".unfinished"));
    const driver_run done = run_driver(call);
    REQUIRE(done.code() == 0);
    CHECK(done.json()["logs"].size() == 75);
    CHECK(std::filesystem::exists(made));
}

TEST_CASE("print that is interrupted ends with a whole block") {
    const real_log log("steem-2016");
    const temporary_folder said;
    const std::string out = said / "out";
    driver_process process({"block-log", "print", log.path(), "--operations", "--json"}, out);
    while (process.is_running() &&
           (!std::filesystem::exists(out) || std::filesystem::file_size(out) == 0))
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    process.send(SIGINT);
    const driver_run run = process.wait();
    const auto printed = nlohmann::json::parse(read_file(out));
    CHECK_FALSE(printed["blocks"].empty());
    if (run.code() == 3) CHECK(printed["ended"] == "interrupted");
}
