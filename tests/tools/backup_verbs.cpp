// The driver's backup and restore, as operators run them: at rest, after a kill, beside a writer.

#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <sys/mount.h>
#include <tests/failure/own_mounts.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/random_source.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/real_logs.hpp>
#include <tests/tools/sound_states.hpp>

#include <chrono>
#include <fstream>
#include <thread>

using namespace chainbase::test;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace fs = std::filesystem;

namespace {

std::vector<std::string> backup_call(const fs::path& state, const fs::path& to) {
    return {"backup", "--state", state.string(), "--to", to.string(), "--json"};
}
std::vector<std::string> restore_call(const fs::path& from, const fs::path& state) {
    return {"restore", "--from", from.string(), "--state", state.string(), "--json"};
}

json backed_up(const fs::path& state, const fs::path& to) {
    const driver_run run = run_driver(backup_call(state, to));
    INFO(run.err);
    REQUIRE(run.code() == 0);
    return run.json();
}
json restored(const fs::path& from, const fs::path& state) {
    const driver_run run = run_driver(restore_call(from, state));
    INFO(run.err);
    REQUIRE(run.code() == 0);
    return run.json();
}

/// A replay that stands still somewhere in the middle, with the state open.
class stopped_replay {
public:
    stopped_replay(const real_log& log, const std::vector<std::string>& more)
        : process_(log.replay(more)) {
        const fs::path published = log.state() / "checkpoint" / "published.1";
        while (process_.is_running() && !fs::exists(published))
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        process_.send(SIGSTOP);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    [[nodiscard]] bool is_running() const { return process_.is_running(); }
    driver_run end(int signal) {
        process_.send(signal);
        process_.send(SIGCONT);
        return process_.wait();
    }

private:
    driver_process process_;
};

} // namespace

TEST_CASE("a replay goes on from a restored backup to the same digest") {
    const std::string archive = GENERATE("rocksdb", "memory", "none");
    CAPTURE(archive);
    const real_log log("steem-2016");
    const driver_run first = run_driver(log.replay({"--archive", archive, "--stop-at", "80000"}));
    REQUIRE(first.code() == 0);
    const json made = backed_up(log.state(), log.state("backup"));
    CHECK(made["chain"] == "steem-2016");
    CHECK(made["block"] == 80000);
    CHECK(made["archive"] == archive);
    CHECK(made["beside_writer"] == false);
    if (archive == "rocksdb") CHECK(made["rows"]["comment"] >= first.json()["archived"]["comment"]);
    check_goes_on(log, "state"); // which a backup does not keep from going on
    const json again = restored(log.state("backup"), log.state("again"));
    for (const char* same : {"identity", "revision", "block", "bytes", "files", "rows"})
        CHECK(again[same] == made[same]);
    const driver_run at_once = run_driver(log.replay({"--stop-at", "80000"}, "again"));
    REQUIRE(at_once.code() == 0);
    CHECK(at_once.json()["state_digest"] == first.json()["state_digest"]);
    check_goes_on(log, "again");
}

TEST_CASE("a backup after a kill has the last whole block and needs no replay") {
    const std::string archive = GENERATE("rocksdb", "memory", "none");
    CAPTURE(archive);
    const real_log log("steem-2016");
    const std::uint64_t seed = test_seed(11);
    CAPTURE(seed);
    random_source random(seed);
    for (int kills = 0; kills < 2;) {
        const std::string number = std::to_string(kills);
        const std::string backup = numbered("backup", kills);
        const std::string again = numbered("again", kills);
        driver_process process(log.replay({"--archive", archive}, number));
        while (process.is_running() && !fs::exists(log.state(number) / "archive" / "format"))
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        std::this_thread::sleep_for(std::chrono::milliseconds(random.below(300)));
        process.send(SIGKILL);
        if (!process.wait().was_killed()) {
            fs::remove_all(log.state(number));
            continue;
        }
        const json made = backed_up(log.state(number), log.state(backup));
        (void)restored(log.state(backup), log.state(again));
        const auto stop = std::to_string(made["block"].get<std::uint64_t>());
        const driver_run there = run_driver(log.replay({"--stop-at", stop}, number));
        const driver_run here = run_driver(log.replay({"--stop-at", stop}, again));
        REQUIRE((there.code() == 0 && here.code() == 0));
        CHECK(here.json()["state_digest"] == there.json()["state_digest"]);
        CHECK(here.json()["replayed_blocks"] == 0);
        CHECK(there.json()["replayed_blocks"] == 0);
        check_goes_on(log, again);
        ++kills;
    }
}

TEST_CASE("a state whose machine was lost is backed up as its checkpoint restores it") {
    const real_log log("steem-2016");
    REQUIRE(run_driver(log.replay({"--stop-at", "50000", "--durability", "commit"})).code() == 0);
    fs::remove_all(log.state() / "segment"); // as memory is
    CHECK(backed_up(log.state(), log.state("backup"))["block"] == 50000);
    (void)restored(log.state("backup"), log.state("again"));
    check_goes_on(log, "again");
}

TEST_CASE("beside a writer the backup is of its newest checkpoint") {
    const std::string archive = GENERATE("rocksdb", "memory");
    CAPTURE(archive);
    const real_log log("steem-2016");
    stopped_replay writer(log, {"--archive", archive, "--checkpoint-interval", "0.02"});
    REQUIRE(writer.is_running());
    const driver_run run = run_driver(backup_call(log.state(), log.state("backup")));
    INFO(run.err);
    REQUIRE(run.code() == 0);
    CHECK(run.json()["beside_writer"] == true);
    CHECK(run.says("a writer has it open"));
    const driver_run whole = writer.end(SIGCONT);
    CHECK(whole.code() == 0);
    CHECK(whole.json()["state_digest"] == digest_at_end(log.chain()));
    (void)restored(log.state("backup"), log.state("again"));
    check_goes_on(log, "again");
}

TEST_CASE("backups while a replay is at full speed are whole") {
    const real_log log("steem-2016");
    driver_process writer(log.replay({"--checkpoint-interval", "0.01"}));
    int made = 0;
    while (writer.is_running()) {
        if (!fs::exists(log.state() / "checkpoint" / "published.0")) continue;
        const driver_run run = run_driver(backup_call(log.state(), log.state(numbered("b", made))));
        INFO(run.err);
        REQUIRE(run.code() == 0);
        ++made;
    }
    CHECK(writer.wait().json()["state_digest"] == digest_at_end(log.chain()));
    CHECK(made > 1);
    for (int n = 0; n < made; n += std::max(1, made / 2)) {
        (void)restored(log.state(numbered("b", n)), log.state(numbered("a", n)));
        check_goes_on(log, numbered("a", n));
    }
}

TEST_CASE("a state with blocks that can be popped keeps them in its backup") {
    const real_log log("steem-2016");
    const auto sync_to = [&](const std::string& stop, const std::string& name) {
        const driver_run run = run_driver({"sync", "--block-log", log.path().string(), "--state",
                                           log.state(name).string(), "--once", "--lag", "20",
                                           "--stop-at", stop, "--json"});
        INFO(run.err);
        REQUIRE(run.code() == 0);
        return run.json();
    };
    CHECK(sync_to("1000", "state")["irreversible"] == 980);
    const json made = backed_up(log.state(), log.state("backup"));
    CHECK(made["block"] == 1000);
    CHECK(made["revision"].get<int>() - made["irreversible_revision"].get<int>() == 20);
    (void)restored(log.state("backup"), log.state("again"));
    const json here = sync_to("1000", "again");
    CHECK(here["irreversible"] == 980);
    CHECK(sync_to("2000", "again")["state_digest"] == sync_to("2000", "state")["state_digest"]);
}

TEST_CASE("a state whose segment is in memory is backed up, too") {
    if (!fs::is_directory("/dev/shm")) {
        WARN("skipped: there is no /dev/shm");
        return;
    }
    const real_log log("steem-2016");
    const temporary_folder memory("/dev/shm");
    REQUIRE(
        run_driver(log.replay({"--stop-at", "20000", "--memory-folder", memory.path()})).code() ==
        0);
    CHECK(backed_up(log.state(), log.state("backup"))["block"] == 20000);
    (void)restored(log.state("backup"), log.state("again"));
    check_goes_on(log, "again");
}

TEST_CASE("calls that are wrong end with 2, refusals with 1, and neither makes anything") {
    const real_log log("steem-2016");
    REQUIRE(run_driver(log.replay({"--stop-at", "1000"})).code() == 0);
    (void)backed_up(log.state(), log.state("backup"));
    const auto ends_with = [&](int code, const std::vector<std::string>& call,
                               const std::string& what) {
        const driver_run run = run_driver(call);
        CAPTURE(run.err, call.front());
        CHECK(run.code() == code);
        CHECK(run.says(what));
        CHECK(run.out.empty());
        CHECK_FALSE(fs::exists(log.state("none")));
        CHECK_FALSE(fs::exists(log.state("none.unfinished")));
    };
    ends_with(2, backup_call(log.state(), log.state("backup")), "is there already");
    ends_with(2, backup_call(log.state("nowhere"), log.state("none")), "no state");
    ends_with(2, restore_call(log.state("backup"), log.state()), "is there already");
    ends_with(2, {"restore", "--from", log.state("backup").string()}, "--state");
    ends_with(1, restore_call(log.state(), log.state("none")), "no backup");
    const fs::path pages = log.state("backup") / "checkpoint" / "pages";
    CHECK(run_driver({"restore", "--from", log.state("backup").string(), "--check"}).code() == 0);
    fs::resize_file(pages, fs::file_size(pages) - 1);
    ends_with(1, restore_call(log.state("backup"), log.state("none")), pages.string());
    ends_with(1, {"restore", "--from", log.state("backup").string(), "--check"}, "truncated");
    REQUIRE(fs::remove_all(log.state() / "archive") > 0);
    ends_with(1, backup_call(log.state(), log.state("none")), "archive: missing");
}

TEST_CASE("killed at random times backup and restore leave nothing that passes for whole") {
    const real_log log("steem-2016");
    REQUIRE(run_driver(log.replay({"--stop-at", "80000"})).code() == 0);
    (void)backed_up(log.state(), log.state("good"));
    const std::uint64_t seed = test_seed(12);
    CAPTURE(seed);
    random_source random(seed);
    const auto killed = [&](const std::vector<std::string>& call) {
        driver_process process(call);
        std::this_thread::sleep_for(std::chrono::microseconds(random.below(60'000)));
        process.send(SIGKILL);
        return process.wait().was_killed();
    };
    for (int n = 0; n < 6; ++n) {
        const fs::path backup = log.state(numbered("backup", n));
        const fs::path again = log.state(numbered("again", n));
        killed(backup_call(log.state(), backup));
        if (!fs::exists(backup)) (void)backed_up(log.state(), backup);
        CHECK(run_driver({"restore", "--from", backup.string(), "--check"}).code() == 0);
        killed(restore_call(backup, again));
        if (!fs::exists(again)) (void)restored(backup, again);
        check_sound(again);
    }
    check_goes_on(log, "again5");
}

TEST_CASE("a signal ends a backup with 3 and nothing left") {
    const real_log log("steem-2016");
    REQUIRE(run_driver(log.replay()).code() == 0);
    for (int n = 0; n < 10; ++n) {
        driver_process process(backup_call(log.state(), log.state("backup")));
        std::this_thread::sleep_for(std::chrono::milliseconds(5 + 4 * n));
        process.send(SIGTERM);
        const driver_run run = process.wait();
        INFO(run.err);
        CHECK((run.code() == 3 || run.code() == 0 || WIFSIGNALED(run.status)));
        CHECK(fs::exists(log.state("backup")) == (run.code() == 0));
        CHECK_FALSE(fs::exists(log.state("backup.unfinished")));
        fs::remove_all(log.state("backup"));
    }
    check_goes_on(log, "state");
}

TEST_CASE("a full disk ends a backup and a restore with 1 and nothing left") {
    const real_log log("steem-2016");
    REQUIRE(run_driver(log.replay({"--stop-at", "80000"})).code() == 0);
    (void)backed_up(log.state(), log.state("backup"));
    const fs::path disk = log.state("disk");
    fs::create_directory(disk);
    const auto mount = [&] {
        return ::mount("none", disk.c_str(), "tmpfs", 0, "size=64m,mode=0700") == 0;
    };
    run_with_mounts(mount, [&] {
        for (const int kibi : {64, 4'000, 13'000, 13'800, 14'000, 14'100, 14'200, 14'300}) {
            {
                std::ofstream ballast(disk / "ballast");
                const std::string block(1024, 'x');
                for (int n = kibi; n < 64 * 1024; ++n)
                    ballast << block;
            }
            for (const auto& call : {backup_call(log.state(), disk / "new"),
                                     restore_call(log.state("backup"), disk / "new")}) {
                const driver_run run = run_driver(call);
                const bool is_made = fs::exists(disk / "new");
                expect(run.code() == (is_made ? 0 : 1), numbered("the code at ", kibi));
                expect(is_made || run.says("pace"), "what is said: " + run.err);
                expect(!fs::exists(disk / "new.unfinished"), "something is left");
                fs::remove_all(disk / "new");
            }
            fs::remove(disk / "ballast");
        }
        expect(run_driver(backup_call(log.state(), disk / "new")).code() == 0, "with room");
    });
}
