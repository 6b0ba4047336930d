// No space: in the windows, on the disk, in a small file system.

#include <pool_allocator/address_space.hpp>
#include <pool_allocator/base/private_folder.hpp>
#include <pool_allocator/base/resource_limits.hpp>
#include <pool_allocator/window.hpp>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <linux/loop.h>
#include <linux/quota.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tests/failure/sample_states.hpp>
#include <tests/support/chain_model.hpp>
#include <tests/support/child_process.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/seeded.hpp>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
namespace fs = std::filesystem;

// Files may not grow, the file system is read-only, a window or the address space is full: a typed
// exception names the file, and the state is unchanged and usable.

namespace {

/// Limits the length of files written by this process.
void limit_files(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, RLIM_INFINITY};
    expect(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
}

/// Creates cards until E is thrown, in a session or not; the last call must have changed nothing.
template <typename E>
std::string fill_with_cards(database& db) {
    std::uint32_t key = db.count<card>() * 2;
    for (;; ++key) {
        const auto count = db.count<card>();
        try {
            db.create<card>([&](card& c) {
                c.key = key;
                c.group = key % 100;
            });
        } catch (const E& e) {
            const snapshot before(db.memory());
            expect(db.count<card>() == count, "count after a failure");
            const auto create = [&] { db.create<card>([&](card& c) { c.key = key; }); };
            try {
                create();
                expect(false, "the second attempt worked");
            } catch (const E&) {
            }
            expect(snapshot(db.memory()) == before, "a failure changed the state");
            expect(!(db.find<card, by_key>(key)), "the object that failed is found");
            return e.what();
        }
    }
}

/// Uses the remaining space: changes, removes, undoes.
void use_what_is_left(database& db) {
    const snapshot before(db.memory());
    {
        auto session = db.start_session();
        const card& first = *db.objects<card>().begin();
        db.modify(first, [](card& c) { c.key += 5'000'000; });
        db.remove(first);
    }
    expect(snapshot(db.memory()) == before, "undo");
    db.remove(*db.objects<card>().begin());
}

void fill_state(const std::filesystem::path& path) {
    database db(path, quick_options());
    db.add_type<card>("thing");
    limit_files(1'200'000);
    const std::string said = fill_with_cards<out_of_space_error>(db);
    expect_names(said, "thing");
    expect_names(said, "bytes");
    use_what_is_left(db);
    limit_files(RLIM_INFINITY);
    for (std::uint32_t k = 0; k < 10'000; ++k)
        db.create<card>([&](card& c) { c.key = 1'000'000 + k; });
}

} // namespace

TEST_CASE("files that may not grow: what fails changes nothing, and more room is enough") {
    const scratch_folder folder;
    CHECK_FALSE(run_process([&] { fill_state(folder / "state"); }).killed);
    database db(folder / "state", quick_options());
    db.add_type<card>("thing");
    CHECK(db.find<card, by_key>(1'009'999U) != nullptr);
}

TEST_CASE("a state that cannot be created for lack of room leaves the way free") {
    const scratch_folder folder;
    CHECK_FALSE(run_process([&] {
                    for (const rlim_t bytes : {100, 5'000, 50'000}) {
                        limit_files(bytes);
                        try {
                            database db(folder / "state", quick_options());
                            expect(false, "created");
                        } catch (const error&) {
                        }
                    }
                    limit_files(RLIM_INFINITY);
                    database db(folder / "state", quick_options());
                    db.add_type<card>("thing");
                    limit_files(1'000);
                    try {
                        db.add_type<item>("other");
                        expect(false, "added");
                    } catch (const error&) {
                    }
                }).killed);
    database db(folder / "state", quick_options());
    db.add_type<card>("thing");
    db.add_type<item>("other");
}

TEST_CASE("a read-only file system") {
    const sample_state state;
    const char* place = state.folder.path().c_str();
    const auto mount_read_only = [&] {
        struct statvfs now{}; // the flags that a user namespace may not drop
        return mount(place, place, nullptr, MS_BIND, nullptr) == 0 && statvfs(place, &now) == 0 &&
               mount(place, place, nullptr,
                     MS_BIND | MS_REMOUNT | MS_RDONLY |
                         (now.f_flag & (ST_NOSUID | ST_NODEV | ST_NOEXEC)),
                     nullptr) == 0;
    };
    CHECK_NOTHROW(state.open_and_compare());
    run_with_mounts(mount_read_only, [&] {
        for (const auto& path : {state.path, state.folder / "new"})
            expect_names(message_of<io_error>([&] { database db(path, quick_options()); }),
                         "Read-only");
        database reader(state.path, quick_options(open_mode::read_only));
        reader.add_type<card>("thing");
        expect(reader.count<card>() == 20, "count");
    });
}

TEST_CASE("a window that is as long as it may be") {
    const scratch_folder folder;
    open_options options = quick_options();
    options.window_bytes = std::size_t{2} << 20;
    database db(folder / "state", options);
    db.add_type<card>("thing");
    const std::string said = fill_with_cards<limit_error>(db);
    CHECK_NOTHROW(expect_names(said, "2097152"));
    CHECK_NOTHROW(use_what_is_left(db));
}

TEST_CASE("a log that is as long as it may be: the session is still undone") {
    const scratch_folder folder;
    open_options options = quick_options();
    options.window_bytes = std::size_t{4} << 20;
    database db(folder / "state", options);
    db.add_type<label>("label");
    db.create<label>([](label& l) { l.text = std::string(60'000, 'a'); });
    const snapshot before(db.memory());
    auto session = db.start_session();
    const label& only = *db.objects<label>().begin();
    const auto change = [&](char c) {
        db.modify(only, [&](label& l) { l.text = std::string(60'000, c); });
    };
    int done = 0;
    const std::string said = message_of<limit_error>([&] {
        for (;; ++done)
            change(static_cast<char>('a' + done % 26));
    });
    CHECK_NOTHROW(expect_names(said, "undo_log"));
    CHECK(done > 20);
    CHECK(only.text.view() == std::string(60'000, static_cast<char>('a' + (done - 1) % 26)));
    CHECK_THROWS_AS(change('z'), limit_error);
    session.undo();
    CHECK(snapshot(db.memory()) == before);
    CHECK_NOTHROW(change('z'));
}

TEST_CASE("more memory than the machine has is refused before the kernel kills") {
    const scratch_folder place;
    const char* at = place.path().c_str();
    run_with_mounts([&] { return mount("none", at, "tmpfs", 0, "size=1000g") == 0; },
                    [&] {
                        private_folder::make(place / "own", std::nullopt);
                        const std::uint64_t free = resource_limits::available_memory().value();
                        const address_space addresses(std::bit_ceil(4 * free), 1);
                        window file = window::create({&addresses, 0}, place / "own/file",
                                                     {window_kind::objects, 64, 4096});
                        expect_names(
                            message_of<out_of_space_error>([&] { file.grow_to(3 * free); }),
                            "the machine has ");
                        expect(file.bytes() == 4096, "length");
                    });
}

TEST_CASE("no window left for a type") {
    const scratch_folder folder;
    open_options options = quick_options();
    options.windows = 26 + 4 + 1;
    {
        database db(folder / "state", options);
        db.add_type<card>("thing");
        const state_image before(folder / "state");
        CHECK_NOTHROW(
            expect_names(message_of<limit_error>([&] { db.add_type<item>("other"); }), "other"));
        CHECK(state_image(folder / "state") == before);
        db.create<card>([](card&) {});
    }
    database db(folder / "state", options);
    db.add_type<card>("thing");
    CHECK(db.count<card>() == 1);
}

// A tmpfs without a free page, where even reading a hole of a file allocates one.

namespace {

/// Runs `work` in a process with its own small file system.
void on_small_disk(const std::function<void(const fs::path&)>& work) {
    const scratch_folder place;
    const char* at = place.path().c_str();
    run_with_mounts([&] { return mount("none", at, "tmpfs", 0, "size=12m") == 0; },
                    [&] { work(place.path()); });
}

/// One random change of the database and of the model. Returns whether there was space for it.
bool change_one(database& db, note_model& expected, random_source& random) {
    try {
        expected.change_one(db, random, 15);
        return true;
    } catch (const out_of_space_error& e) {
        expect_names(e.what(), "state/segment/");
        return false;
    }
}

} // namespace

TEST_CASE("lookups of removed objects after compaction on a full disk") {
    on_small_disk([](const fs::path& place) {
        database db(place / "state", quick_options());
        db.add_type<note>("note");
        for (std::uint32_t i = 0; i < 6000; ++i)
            write_note(db, std::to_string(i), i);
        for (std::uint32_t i = 0; i < 5000; ++i)
            db.remove(db.get(id<note>(i)));
        db.compact();
        fill_up(place);
        for (std::uint32_t i = 0; i < 6000; ++i)
            expect((db.find(id<note>(i)) != nullptr) == (i >= 5000), "by id");
        expect(note_model::of(db).notes.size() == 1000, "objects");
    });
}

TEST_CASE("random changes on a full disk happen whole or not at all") {
    on_small_disk([](const fs::path& place) {
        random_source random(5);
        note_model expected;
        std::size_t refused = 0;
        {
            database db(place / "state", quick_options());
            db.add_type<note>("note");
            while (change_one(db, expected, random))
                ;
            fill_up(place);
            expect(note_model::of(db) == expected, "the first refusal changed something");
            for (int round = 0; round < 30; ++round) {
                const note_model before = expected;
                try {
                    auto session = db.start_session();
                    for (int i = 0; i < 60; ++i)
                        refused += !change_one(db, expected, random);
                    expect(note_model::of(db) == expected, "a refusal changed something");
                    if (round % 3 == 0)
                        session.squash();
                    else
                        expected = before;
                } catch (const out_of_space_error&) {
                    expect(expected == before, "no session, yet changes");
                }
                expect(note_model::of(db) == expected, "after the session");
            }
        }
        expect(refused > 50, "hardly anything was refused");
        database again(place / "state", quick_options());
        again.add_type<note>("note");
        expect(note_model::of(again) == expected, "after opening again");
        again.clear<note>();
        expected.notes.clear();
        for (int i = 0; i < 100; ++i)
            expect(change_one(again, expected, random), "no room in an empty state");
        expect(note_model::of(again) == expected, "at the end");
    });
}

// Full file systems of several kinds: a tmpfs without inodes, a disk, a user's disk quota. An
// exception names the file, and work continues when there is space.

namespace {

/// Makes a disk of `bytes` in a file and mounts it at `place`. Returns false where that is not
/// possible.
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
    config.info.lo_flags = LO_FLAGS_AUTOCLEAR; // removed with the mount
    if (loop < 0 || file < 0 || ioctl(loop, LOOP_CONFIGURE, &config) != 0) return false;
    return mount(device.c_str(), place.c_str(), "ext4", 0, options) == 0;
}

/// Fills the state, continues after `make_room`, and opens the result.
void exhaust(const fs::path& state, std::uint64_t seed, const std::string& reason,
             const std::function<void()>& take_room, const std::function<void()>& make_room) {
    note_chain chain(seed);
    {
        database db(state, with_checkpoints(3));
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
    database again(state, with_checkpoints(3));
    again.add_type<note>("note");
    chain.require_same(again);
}

/// Limits a user's disk space, in KiB. Returns whether quotas are supported.
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

/// Runs `work` as another user, who is subject to quotas.
void as_user(uid_t user, const std::function<void()>& work) {
    run_process([&] {
        expect(setgid(user) == 0 && setuid(user) == 0, "setuid");
        work();
    });
}

} // namespace

TEST_CASE("a tmpfs without inodes: a state is not made, and is made when there are some") {
    const scratch_folder place;
    const char* at = place.path().c_str();
    run_with_mounts([&] { return mount("none", at, "tmpfs", 0, "size=64m,nr_inodes=30") == 0; },
                    [&] {
                        const auto open_it = [&] {
                            database db(place / "state", with_checkpoints(3));
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

TEST_CASE_METHOD(seeded, "a tmpfs that is full, and made larger") {
    const scratch_folder place;
    const char* at = place.path().c_str();
    run_with_mounts([&] { return mount("none", at, "tmpfs", 0, "size=24m") == 0; },
                    [&] {
                        exhaust(
                            place / "state", seed, "No space", [&] { fill_up(place.path()); },
                            [&] { fs::remove(place / "ballast"); });
                    });
}

TEST_CASE_METHOD(seeded, "a disk that is full") {
    const scratch_folder place;
    const fs::path disk = place / "disk";
    fs::create_directory(disk);
    run_with_mounts([&] { return mount_disk(place / "image", disk, "", ""); },
                    [&] {
                        exhaust(
                            disk / "state", seed, "No space", [&] { fill_up(disk); },
                            [&] { fs::remove(disk / "ballast"); });
                    });
}

TEST_CASE_METHOD(seeded, "a user's share of a disk that is used up") {
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
                exhaust(
                    disk / "own/state", seed, "quota", [&] { fill_up(disk / "own"); },
                    [&] { fs::remove(disk / "own/ballast"); });
            });
        });
}

// A file system that allocates huge pages at once (tmpfs with huge=always or within_size) returns
// pages with another file's old content if they are collapsed before anything has touched them. New
// file space must read as zeros on every file system.

namespace {

constexpr const char* mount_point = "/mnt";
constexpr std::size_t mebi = std::size_t{1} << 20;

/// Writes and removes files of text, whose pages are then allocated next.
void leave_stale_pages() {
    const std::filesystem::path file = std::filesystem::path(mount_point) / "text";
    std::ofstream out(file);
    const std::string text(mebi, 'x');
    for (int i = 0; i < 128; ++i)
        out << text;
    out.close();
    std::filesystem::remove(file);
}

bool is_zero(const std::byte* begin, std::size_t bytes) {
    return std::all_of(begin, begin + bytes, [](std::byte b) { return b == std::byte{0}; });
}

} // namespace

TEST_CASE("what a window grows by is zero, whatever huge pages the file system gives") {
    const std::string huge = GENERATE("never", "advise", "within_size", "always");
    const auto mounted = [&] {
        const std::string options = "mode=0700,size=512m,huge=" + huge;
        return ::mount("tmpfs", mount_point, "tmpfs", 0, options.c_str()) == 0;
    };
    run_with_mounts(mounted, [] {
        leave_stale_pages();
        const address_space addresses(256 * mebi, 1);
        const window::geometry shape{window_kind::objects, 64, window_header::page_bytes};
        window file =
            window::create({&addresses, 0}, std::filesystem::path(mount_point) / "objects", shape);
        file.grow_range(8 * mebi, 8 * mebi);
        expect(is_zero(file.base() + 8 * mebi, 8 * mebi), "a range is zero");
        file.grow_to(64 * mebi);
        const std::size_t after = 16 * mebi;
        expect(is_zero(file.base() + after, file.bytes() - after), "what follows is zero");
    });
}
