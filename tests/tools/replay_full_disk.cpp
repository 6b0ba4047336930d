// One disk of the driver's is full: that of the checkpoints, of the archive, of the segment, of
// all. The call ends with a message and exit code 1, at a whole block; with room the same call goes
// on and ends where an undisturbed one does.

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <tests/failure/own_mounts.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/real_logs.hpp>
#include <unistd.h>

#include <regex>
#include <string>
#include <vector>

using namespace chainbase::test;

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kibi = 1024;
constexpr std::uint64_t mebi = 1024 * kibi;

/// A tmpfs that is as full as a test wants it.
class small_disk {
public:
    explicit small_disk(fs::path at) : at_(std::move(at)) {}

    [[nodiscard]] bool mount() const {
        fs::create_directories(at_);
        return ::mount("none", at_.c_str(), "tmpfs", 0, "size=400m,mode=0700") == 0;
    }
    [[nodiscard]] const fs::path& path() const { return at_; }

    /// From here on it stands in the folder's place.
    void take(const fs::path& folder) const {
        const fs::path own = at_ / folder.parent_path().filename();
        fs::copy(folder, own, fs::copy_options::recursive);
        fs::permissions(own, fs::perms::owner_all);
        fs::remove_all(folder);
        fs::create_directory(folder);
        expect(::mount(own.c_str(), folder.c_str(), nullptr, MS_BIND, nullptr) == 0, "bind");
    }
    void leave_room(std::uint64_t bytes) const {
        struct statvfs now{};
        expect(::statvfs(at_.c_str(), &now) == 0, "statvfs");
        const int file = ::open(ballast().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        const auto taken = static_cast<off_t>(now.f_bavail * now.f_frsize - bytes);
        expect(file >= 0 && ::posix_fallocate(file, 0, taken) == 0, "no ballast");
        ::close(file);
    }
    void make_room() const { fs::remove(ballast()); }

private:
    [[nodiscard]] fs::path ballast() const { return at_ / "ballast"; }

    fs::path at_;
};

/// Where states are that are about another disk: in memory, which syncs at once.
bool mount_states(const real_log& log) {
    return small_disk(log.state("states")).mount();
}

/// A call of a verb that reads a block log.
struct call {
    const real_log& log;
    std::string verb;
    std::string state;
    std::vector<std::string> more;

    [[nodiscard]] fs::path folder() const { return log.state(state); }
    [[nodiscard]] driver_run run(const std::vector<std::string>& also = {}) const {
        std::vector<std::string> all = log.replay(more, state);
        all.front() = verb;
        if (verb == "sync") all.emplace_back("--once");
        all.insert(all.end(), also.begin(), also.end());
        return run_driver(all);
    }
    /// Other folders can then take the place of those that it made.
    void run_first_blocks() const {
        expect(run({"--stop-at", "1000"}).code() == 0, "the first blocks");
    }
};

std::size_t times_said(const driver_run& run, const std::string& what) {
    std::size_t times = 0;
    for (auto at = run.err.find(what); at != std::string::npos; at = run.err.find(what, at + 1))
        ++times;
    return times;
}

/// The redo log can work and fail again, but does not say so block after block.
void expect_durable_in_between(const driver_run& run) {
    static const std::regex failure("; blocks after revision ([0-9]+) are on storage only");
    std::string last;
    for (std::sregex_iterator at(run.err.begin(), run.err.end(), failure), end; at != end; ++at) {
        expect(at->str(1) != last, "the redo log's failure is told more than once: " + run.err);
        last = at->str(1);
    }
}

void expect_refusal(const driver_run& run, const std::vector<std::string>& named) {
    expect(run.code() == 1, "exit code " + std::to_string(run.code()) + ": " + run.err);
    expect(run.out.empty(), "reports something: " + run.out);
    expect(run.says("No space left on device"), run.err);
    for (const std::string& what : named)
        expect(run.says(what), "does not say " + what + ": " + run.err);
}

driver_run expect_the_end(const call& of, const std::vector<std::string>& also = {}) {
    driver_run run = of.run(also);
    expect(run.code() == 0, "the driver: " + run.err);
    expect(run.json()["state_digest"] == digest_at_end(of.log.chain()), "another state");
    return run;
}

std::size_t empty_files(const fs::path& folder) {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(folder))
        count += entry.file_size() == 0 ? 1 : 0;
    return count;
}

std::string name_of(std::uint64_t room) {
    return std::to_string(room / kibi) + "k";
}

void fill_checkpoints(const call& of, const small_disk& disk, std::uint64_t room) {
    const fs::path checkpoints = of.folder() / "checkpoint";
    of.run_first_blocks();
    disk.take(checkpoints);
    disk.leave_room(room);
    const driver_run full = of.run();
    expect_refusal(full, {(checkpoints / "pages").string(), " bytes for "});
    expect(times_said(full, "the one before stays") <= 1 + times_said(full, "some that failed"),
           "a checkpoint's failure is told more than once: " + full.err);
    expect_durable_in_between(full);
    expect(times_said(full, "closing ") <= 1, "closed twice: " + full.err);
    expect(empty_files(checkpoints) == 0, "leaves files that nobody needs");
}

/// Replays of the log at both levels, each with every room on `disk` for its checkpoints, then
/// `went_on` when there is room again.
template <typename Check>
void fill_checkpoints_of_all(const real_log& log, const small_disk& disk,
                             const std::vector<std::uint64_t>& rooms, Check&& went_on) {
    for (const std::string level : {"checkpoint", "commit"})
        for (const std::uint64_t room : rooms) {
            const call replay{log,
                              "replay",
                              "states/" + level + name_of(room),
                              {"--checkpoint-interval", "0.05", "--durability", level}};
            fill_checkpoints(replay, disk, room);
            disk.make_room();
            went_on(replay);
        }
}

} // namespace

TEST_CASE("a full disk for checkpoints: the replay comes to its end and is not called closed") {
    const real_log log("steem-2016");
    const small_disk disk(log.state("disk"));
    run_with_mounts([&] { return disk.mount() && mount_states(log); },
                    [&] {
                        fill_checkpoints_of_all(
                            log, disk, {0, mebi, 8 * mebi}, [](const call& replay) {
                                const driver_run again = expect_the_end(replay, {"--verify"});
                                expect(again.json()["replayed_blocks"] == 0, "blocks were lost");
                            });
                    });
}

TEST_CASE("a full disk for checkpoints and a machine that restarts: the one before is there") {
    const real_log log("steem-2016");
    const small_disk disk(log.state("disk"));
    run_with_mounts([&] { return disk.mount() && mount_states(log); },
                    [&] {
                        fill_checkpoints_of_all(log, disk, {0, 6 * mebi}, [](const call& replay) {
                            fs::remove_all(replay.folder() / "segment");
                            expect_the_end(replay, {"--verify"});
                        });
                    });
}

namespace {

void fill_archive(const call& of, const small_disk& disk, std::uint64_t room) {
    const fs::path archive = of.folder() / "archive";
    of.run_first_blocks();
    disk.take(archive);
    disk.leave_room(room);
    const driver_run full = of.run();
    if (full.code() == 0) // table files can wait, the rows are in the log
        expect(full.says("nothing that was written is lost"), full.err);
    else
        expect_refusal(full, {archive.string() + "/"});
    if (room >= 24 * kibi && room <= 600 * kibi)
        expect(full.says("The state stays at block "), full.err);
    expect_refusal(of.run(), {archive.string() + "/"});
    disk.make_room();
    expect_the_end(of);
}

void fill_memory(const call& of, const small_disk& memory, std::uint64_t room) {
    memory.leave_room(room);
    for (int again = 0; again < 2; ++again) {
        const driver_run full = of.run();
        expect_refusal(full, {memory.path().string(), "no space to ", "free space and try again"});
        if (room > mebi) expect(full.says("The state stays at block "), full.err);
    }
    memory.make_room();
    expect_the_end(of);
}

} // namespace

TEST_CASE("a full disk for the archive: the block before stays, and the same call goes on") {
    const real_log log("steem-2016");
    const small_disk disk(log.state("disk"));
    run_with_mounts([&] { return disk.mount() && mount_states(log); },
                    [&] {
                        // Opening fails; writing the log, early and late; table files at the end.
                        for (const std::uint64_t room : {0U, 4U, 24U, 600U, 1250U, 1344U, 1400U}) {
                            const call replay{log, "replay", "states/r" + name_of(room * kibi), {}};
                            fill_archive(replay, disk, room * kibi);
                        }
                        fill_archive({log, "sync", "states/s", {}}, disk, 100 * kibi);
                    });
}

TEST_CASE("full shared memory: the block before stays, and the same call goes on") {
    const real_log log("steem-2016");
    const small_disk memory(log.state("memory"));
    const std::vector<std::string> there{"--memory-folder", memory.path().string()};
    run_with_mounts([&] { return memory.mount() && mount_states(log); },
                    [&] {
                        for (const std::uint64_t room :
                             {64 * kibi, mebi, 2 * mebi, 5 * mebi, 12 * mebi, 18 * mebi})
                            fill_memory({log, "replay", "states/r" + name_of(room), there}, memory,
                                        room);
                        fill_memory({log, "sync", "states/s", there}, memory, 8 * mebi);
                    });
}

TEST_CASE("a full disk that has all of a state") {
    const real_log log("steem-2016");
    const small_disk disk(log.state("disk"));
    const std::vector<std::uint64_t> rooms{64 * kibi, 2 * mebi,  4 * mebi,
                                           9 * mebi,  17 * mebi, 25 * mebi};
    run_with_mounts([&] { return disk.mount(); },
                    [&] {
                        for (const std::uint64_t room : rooms) {
                            const call replay{log,
                                              "replay",
                                              "disk/" + name_of(room),
                                              {"--checkpoint-interval", "0.05"}};
                            disk.leave_room(room);
                            for (int again = 0; again < 2; ++again)
                                expect_refusal(replay.run(), {replay.folder().string() + "/"});
                            disk.make_room();
                            expect_the_end(replay, {"--verify"});
                        }
                    });
}
