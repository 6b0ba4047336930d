// File systems without room, of the kinds there are: a tmpfs without inodes, a disk, the share of a
// disk that a user may have. An exception that names the file, and work goes on when there is room.

#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <linux/loop.h>
#include <linux/quota.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tests/failure/note_chain.hpp>
#include <tests/failure/own_mounts.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/simulated_disk.hpp>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string>

using namespace chainbase;
using namespace chainbase::test;

namespace fs = std::filesystem;

namespace {

void expect_names(const std::string& said, const std::string& what) {
    expect(said.find(what) != std::string::npos, "does not name " + what + ": " + said);
}

open_options with_checkpoints() {
    open_options options = quick_options();
    options.promise = durability::checkpoint;
    options.checkpoints = {std::chrono::milliseconds(0), 3};
    return options;
}

/// Takes all space that is left.
void fill_up(const fs::path& place) {
    const int file = open((place / "ballast").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    expect(file >= 0, "no ballast");
    for (std::size_t bytes = std::size_t{1} << 20; bytes >= 512; bytes /= 2) {
        const std::string part(bytes, 'b');
        while (write(file, part.data(), bytes) == static_cast<ssize_t>(bytes))
            ;
    }
    close(file);
}

/// A disk of `bytes` in a file, made and mounted at `place`. Returns false where that cannot be.
bool mount_disk(const fs::path& image, const fs::path& place, const char* features,
                const char* options) {
    const std::string size = " 40m";
    const std::string make = "PATH=$PATH:/sbin:/usr/sbin mkfs.ext4 -q -F " + std::string(features) +
                             " " + image.string() + size + " >/dev/null 2>&1";
    if (std::system(make.c_str()) != 0) return false;
    const int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    const int number = control < 0 ? -1 : ioctl(control, LOOP_CTL_GET_FREE);
    if (number < 0) return false;
    const std::string device = "/dev/loop" + std::to_string(number);
    const int loop = open(device.c_str(), O_RDWR | O_CLOEXEC);
    const int file = open(image.c_str(), O_RDWR | O_CLOEXEC);
    loop_config config{};
    config.fd = static_cast<__u32>(file);
    config.info.lo_flags = LO_FLAGS_AUTOCLEAR; // goes with the mount
    if (loop < 0 || file < 0 || ioctl(loop, LOOP_CONFIGURE, &config) != 0) return false;
    return mount(device.c_str(), place.c_str(), "ext4", 0, options) == 0;
}

/// Fills the state, goes on after `make_room`, and opens what is left.
void use_up(const fs::path& state, std::uint64_t seed, const std::string& reason,
            const std::function<void()>& take_room, const std::function<void()>& make_room) {
    note_chain chain(seed);
    {
        database db(state, with_checkpoints());
        db.add_type<note>("note");
        chain.apply_some(db, 20);
        take_room();
        const std::string said = chain.apply_until_refused(db);
        expect_names(said, state.string() + "/segment/");
        expect_names(said, reason);
        chain.require_same(db);
        chain.apply_some(db, 60);
        chain.require_same(db);
        make_room();
        expect(chain.apply_some(db, 60) == 0, "refused though there is room");
        chain.require_same(db);
        db.close();
    }
    database again(state, with_checkpoints());
    again.add_type<note>("note");
    chain.require_same(again);
}

/// Of user `user`, in KiB. Returns whether there are such limits.
bool limit_quota(const fs::path& place, uid_t user, std::uint64_t kibi) {
    const int at = open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if_dqblk limit{};
    limit.dqb_bhardlimit = kibi;
    limit.dqb_bsoftlimit = kibi;
    limit.dqb_valid = QIF_BLIMITS;
    const long done = syscall(SYS_quotactl_fd, at, QCMD(Q_SETQUOTA, USRQUOTA), user, &limit);
    close(at);
    return done == 0;
}

/// Runs `work` as another user, who is bound by quotas.
void as_user(uid_t user, const std::function<void()>& work) {
    const pid_t child = fork();
    if (child == 0) {
        try {
            expect(setgid(user) == 0 && setuid(user) == 0, "setuid");
            work();
        } catch (const std::exception& e) {
            std::fprintf(stderr, "as user: %s\n", e.what());
            _exit(1);
        }
        _exit(0);
    }
    int status = 0;
    expect(waitpid(child, &status, 0) == child && status == 0,
           "as another user: status " + std::to_string(status));
}

/// Holds the thread of checkpoints at the first write until it is let go.
class held_disk {
public:
    held_disk() {
        disk.before = [this](simulated_disk::call which, const fs::path&) {
            if (which != simulated_disk::call::reserve) return;
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return !held_; });
        };
    }
    void hold(bool is_held) {
        {
            const std::lock_guard lock(mutex_);
            held_ = is_held;
        }
        changed_.notify_all();
    }
    simulated_disk disk;

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool held_ = false;
};

} // namespace

TEST_CASE("a tmpfs without inodes: a state is not made, and is made when there are some") {
    const scratch_folder place;
    const char* at = place.path().c_str();
    run_with_mounts([&] { return mount("none", at, "tmpfs", 0, "size=64m,nr_inodes=30") == 0; },
                    [&] {
                        const auto open_it = [&] {
                            database db(place / "state", with_checkpoints());
                            db.add_type<note>("note");
                            db.close();
                        };
                        std::string said;
                        try {
                            open_it();
                        } catch (const out_of_space_error& e) {
                            said = e.what();
                        }
                        expect_names(said, "state/segment");
                        expect_names(said, "free space");
                        expect(mount("none", at, "tmpfs", MS_REMOUNT, "size=64m,nr_inodes=300") ==
                                   0,
                               "remount");
                        open_it();
                    });
}

TEST_CASE("a tmpfs that is full, and made larger") {
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    const scratch_folder place;
    const char* at = place.path().c_str();
    run_with_mounts([&] { return mount("none", at, "tmpfs", 0, "size=24m") == 0; },
                    [&] {
                        use_up(
                            place / "state", seed, "No space", [&] { fill_up(place.path()); },
                            [&] { fs::remove(place / "ballast"); });
                    });
}

TEST_CASE("a disk that is full") {
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    const scratch_folder place;
    const fs::path disk = place / "disk";
    fs::create_directory(disk);
    run_with_mounts([&] { return mount_disk(place / "image", disk, "", ""); },
                    [&] {
                        use_up(
                            disk / "state", seed, "No space", [&] { fill_up(disk); },
                            [&] { fs::remove(disk / "ballast"); });
                    });
}

TEST_CASE("a user's share of a disk that is used up") {
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    const scratch_folder place;
    const fs::path disk = place / "disk";
    fs::create_directory(disk);
    fs::permissions(place.path(), fs::perms::all);
    constexpr uid_t user = 4242;
    run_with_mounts(
        [&] {
            return mount_disk(place / "image", disk, "-O quota -E quotatype=usrquota",
                              "usrquota") &&
                   limit_quota(disk, user, 12 << 10);
        },
        [&] {
            fs::create_directory(disk / "own");
            expect(chown((disk / "own").c_str(), user, user) == 0, "chown");
            as_user(user, [&] {
                use_up(
                    disk / "own/state", seed, "quota", [&] { fill_up(disk / "own"); },
                    [&] { fs::remove(disk / "own/ballast"); });
            });
        });
}

TEST_CASE("a checkpoint of a compacted state on a full tmpfs reads no hole that takes room") {
    const scratch_folder place;
    const char* at = place.path().c_str();
    run_with_mounts([&] { return mount("none", at, "tmpfs", 0, "size=24m") == 0; },
                    [&] {
                        held_disk slow;
                        open_options options = with_checkpoints();
                        options.checkpoint_disk = &slow.disk;
                        options.checkpoints = {std::chrono::milliseconds(0), 1};
                        database db(place / "state", options);
                        db.add_type<note>("note");
                        for (std::uint32_t i = 0; i < 60; ++i)
                            write_note(db, std::to_string(i) + std::string(20'000, 'x'), i);
                        for (std::uint32_t i = 0; i < 59; ++i)
                            db.remove(db.get(id<note>(i)));
                        db.compact(); // leaves holes, which changed since the last checkpoint
                        slow.hold(true);
                        session block = db.start_session();
                        block.push(); // captures them
                        db.commit(db.revision());
                        fill_up(place.path());
                        db.compact(); // punches the same holes again, while they are captured
                        slow.hold(false);
                        db.make_checkpoint();
                        const auto full = [&] {
                            for (std::uint32_t i = 0; i < 60; ++i)
                                write_note(db, std::to_string(i) + std::string(20'000, 'y'), i);
                        };
                        std::string said;
                        try {
                            full();
                        } catch (const out_of_space_error& e) {
                            said = e.what();
                        }
                        expect_names(said, "state/segment/");
                        const std::size_t there = db.count<note>();
                        fs::remove(place / "ballast");
                        write_note(db, "room", 1);
                        expect(db.count<note>() == there + 1, "count");
                        db.make_checkpoint();
                    });
}

TEST_CASE("what a killed writer outgrew is given back on a full tmpfs while it is captured") {
    const scratch_folder place;
    const char* at = place.path().c_str();
    run_with_mounts([&] { return mount("none", at, "tmpfs", 0, "size=64m") == 0; },
                    [&] {
                        held_disk slow;
                        open_options options = with_checkpoints();
                        options.checkpoint_disk = &slow.disk;
                        options.checkpoints = {std::chrono::milliseconds(0), 1};
                        {
                            database killed(place / "state", options);
                            killed.add_type<note>("note");
                            for (std::uint32_t i = 0; i < 40'000; ++i)
                                write_note(killed, std::to_string(i), i); // tables grow
                            killed.abandon();
                        }
                        database db(place / "state", options);
                        db.add_type<note>("note");
                        fill_up(place.path());
                        slow.hold(true);
                        session block = db.start_session();
                        db.modify(db.get(id<note>(5)), [](note& one) { ++one.weight; });
                        block.push(); // captures all pages, holes among them
                        db.commit(db.revision());
                        slow.hold(false);
                        db.make_checkpoint();
                        expect(db.count<note>() == 40'000, "count");
                    });
}
