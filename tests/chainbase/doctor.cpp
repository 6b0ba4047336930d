// The advice about a machine when a state is opened: from made-up facts, from files like the
// kernel's, and on this machine.

#include <chainbase/database.hpp>
#include <chainbase/segment/doctor.hpp>

#include <catch2/catch.hpp>
#include <tests/support/captured_log.hpp>
#include <tests/support/one_type.hpp>
#include <tests/support/scratch_state.hpp>

#include <algorithm>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using doctor::advise;
using doctor::facts;
using doctor::facts_of;
using doctor::severity;

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t mebi = std::uint64_t{1} << 20;
constexpr std::uint64_t gibi = std::uint64_t{1} << 30;

/// A state of 8 GiB in memory with checkpoints on a disk, on a well-configured machine.
facts all_is_well() {
    facts found;
    found.of = {"/var/chain/state", "/dev/shm/chainbase-1/segment", false, 64 * gibi, 384, true};
    found.state_mount = {"/var", "ext4"};
    found.segment_mount = {"/dev/shm", "tmpfs"};
    found.segment_bytes = 8 * gibi;
    found.checkpoint_bytes = 8 * gibi;
    found.segment_files = 60;
    found.free_bytes = 2 * gibi;
    found.mount_bytes = 24 * gibi;
    found.free_for_checkpoints = 18 * gibi;
    found.free_memory = 2 * gibi;
    found.file_limit = 1024;
    found.shmem_enabled = "never";
    found.huge_enabled = "madvise";
    return found;
}

using alteration = std::function<void(facts&)>;

/// The only message; empty if there is none.
std::string message_after(const alteration& make, severity expected = severity::warn) {
    facts found = all_is_well();
    make(found);
    const std::vector<doctor::advice> all = advise(found);
    if (all.empty()) return {};
    REQUIRE(all.size() == 1);
    CHECK(all.front().how == expected);
    CHECK(all.front().text.find('\n') == std::string::npos);
    return all.front().text;
}

bool has(const std::string& text, const std::vector<std::string>& parts) {
    INFO(text);
    for (const std::string& part : parts) {
        INFO(part);
        CHECK(text.find(part) != std::string::npos);
    }
    return !text.empty();
}

void write(const fs::path& file, const std::string& content) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << content;
}

/// A root folder with copies of a machine's kernel files.
struct machine {
    scratch_folder folder;
    fs::path root = folder / "root";
    fs::path state = fs::canonical(folder / ".") / "state";

    machine() {
        fs::create_directories(state / "segment");
        fs::create_directories(root);
    }
    void has(const std::string& file, const std::string& content) const {
        write(root / file, content);
    }
    [[nodiscard]] facts look() const {
        return facts_of({state, state / "segment", false, 64 * mebi, 80}, root);
    }
};

} // namespace

TEST_CASE("nothing is said where nothing is wrong, or nothing is known") {
    CHECK(advise(all_is_well()).empty());
    CHECK(advise(facts{}).empty());
    CHECK(message_after([](facts& f) { f.free_bytes.reset(); }).empty());
    CHECK(message_after([](facts& f) { f.segment_mount.huge = "advise"; }).empty());
}

TEST_CASE("advice: a state whose checkpoints are in memory") {
    CHECK(has(message_after([](facts& f) { f.state_mount = f.segment_mount; }),
              {"tmpfs at /dev/shm", "restart", "--memory-folder '/dev/shm'"}));
}

TEST_CASE("advice: commands can be pasted whatever a folder is called") {
    CHECK(has(message_after([](facts& f) { f.open_folders = {"/it's mine; rm"}; }),
              {R"(chmod o-w -- '/it'\''s mine; rm')"}));
}

TEST_CASE("advice: a folder in which everybody may rename") {
    CHECK(has(message_after([](facts& f) { f.open_folders = {"/var/chain", "/mem"}; }),
              {"2 folder(s)", "sticky", "chmod o-w -- '/var/chain' '/mem'"}));
}

TEST_CASE("advice: too few addresses") {
    const std::uint64_t needed = 384 * 64 * gibi + 384 * 64 * gibi / 4096;
    const auto limit = [](std::uint64_t bytes, std::uint64_t used) {
        return [=](facts& f) {
            f.address_limit = bytes;
            f.addresses = used;
        };
    };
    CHECK(message_after(limit(needed + gibi + 1, gibi)).empty());
    CHECK(has(message_after(limit(needed + gibi, gibi)),
              {"RLIMIT_AS leaves 24582 GiB", "384 windows", "ulimit -v"}));
    CHECK(has(message_after(limit(gibi, 2 * gibi)), {"leaves 0 MiB"}));
}

TEST_CASE("advice: too few files") {
    CHECK(message_after([](facts& f) { f.file_limit = 60 + 256 + 128; }).empty());
    CHECK(has(message_after([](facts& f) { f.file_limit = 60 + 256 + 127; }),
              {"RLIMIT_NOFILE is 443", "60 files", "ulimit -n 1024"}));
    CHECK(has(message_after([](facts& f) { f.segment_files = 2000; }), {"ulimit -n 2384"}));
}

TEST_CASE("advice: a file system that is nearly full") {
    CHECK(has(message_after([](facts& f) { f.free_bytes = 2 * gibi - 1; }),
              {"/dev/shm (tmpfs) has 2047 MiB left", "a state of 8192 MiB wants 2048 MiB",
               "mount -o remount,size=25G '/dev/shm'"}));
    const auto young = [](std::uint64_t bytes) {
        return [=](facts& f) {
            f.segment_bytes = 2 * mebi;
            f.free_bytes = f.mount_bytes = bytes;
        };
    };
    CHECK(message_after(young(256 * mebi)).empty());
    CHECK(
        has(message_after(young(64 * mebi)), {"64 MiB left", "of 2 MiB wants 256 MiB", "size=1G"}));
    CHECK(has(message_after([](facts& f) {
                  f.segment_bytes = 0;
                  f.free_bytes = mebi;
              }),
              {"1 MiB left", "a young state wants 256 MiB", "size=25G"}));
    CHECK(has(message_after([](facts& f) {
                  f.segment_mount = {"/var", "ext4"};
                  f.free_bytes = gibi;
              }),
              {"/var (ext4) has 1024 MiB", "df -h '/var'"}));
    CHECK(has(message_after([](facts& f) {
                  f.of.is_made = true; // a restore of 8 GiB and further growth
                  f.free_memory.reset();
                  f.free_bytes = 9 * gibi;
                  f.segment_mount.huge = "advise";
              }),
              {"9216 MiB left", "wants 10 GiB"}));
}

TEST_CASE("advice: a file system that reserves no room for later stores") {
    CHECK(has(message_after([](facts& f) { f.segment_mount = {"/data", "btrfs", ""}; }),
              {"/data is btrfs", "SIGBUS", "chattr +C", "--memory-folder"}));
}

TEST_CASE("advice: a disk without room for the checkpoints of a state in memory") {
    const auto room = [](std::uint64_t bytes) {
        return [=](facts& f) { f.free_for_checkpoints = bytes; };
    };
    CHECK(has(message_after(room(18 * gibi - 1)),
              {"/var (ext4) has 17 GiB left", "a state of 8192 MiB want 18 GiB", "df -h '/var'"}));
    const auto much_is_taken = [](std::uint64_t bytes) {
        return [=](facts& f) {
            f.checkpoint_bytes = 30 * gibi; // of a formerly larger state
            f.free_for_checkpoints = bytes;
        };
    };
    CHECK(message_after(much_is_taken(2 * gibi)).empty());
    CHECK(has(message_after(much_is_taken(gibi)), {"1024 MiB left", "want 2048 MiB"}));
    CHECK(message_after([&](facts& f) {
              room(0)(f);
              f.of.makes_checkpoints = false;
          }).empty());
    CHECK(message_after([&](facts& f) {
              room(0)(f);
              f.segment_mount = f.state_mount; // one disk for both
          }).empty());
}

TEST_CASE("advice: a machine without memory") {
    CHECK(has(message_after([](facts& f) { f.free_memory = gibi; }),
              {"1024 MiB of memory and swap left", "2048 MiB", "--memory-folder"}));
    CHECK(message_after([](facts& f) {
              f.free_memory = gibi;
              f.segment_mount = {"/var", "ext4"};
          }).empty());
}

TEST_CASE("advice: a cgroup that is too small or nearly used up") {
    const auto group = [](std::uint64_t bytes, std::uint64_t used) {
        return [=](facts& f) {
            f.cgroup = {bytes - std::min(bytes, used), bytes, "/sys/fs/cgroup/node/memory.max"};
        };
    };
    CHECK(message_after(group(10 * gibi, 9 * gibi)).empty());
    CHECK(has(message_after(group(10 * gibi, 10 * gibi - 256 * mebi + 1)),
              {"/sys/fs/cgroup/node/memory.max allows 10 GiB, of which 255 MiB are left", "kills",
               "echo 12G > '/sys/fs/cgroup/node/memory.max'"}));
    CHECK(has(message_after(group(8 * gibi, 0)), {"allows 8192 MiB", "echo 11G >"}));
    CHECK(has(message_after([&](facts& f) {
                  group(4 * gibi, gibi)(f);
                  f.segment_mount = {"/var", "ext4"};
              }),
              {"read from its disk again"}));
}

TEST_CASE("advice: memory that is not overcommitted") {
    const auto limit = [](std::uint64_t bytes, std::uint64_t used) {
        return [=](facts& f) {
            f.commit_limit = bytes;
            f.committed = used;
        };
    };
    CHECK(message_after(limit(12 * gibi, 10 * gibi)).empty());
    CHECK(has(message_after(limit(12 * gibi, 11 * gibi)),
              {"overcommit_memory=2", "1024 MiB of 12 GiB", "sysctl vm.overcommit_memory=0"}));
}

TEST_CASE("advice: no huge pages") {
    CHECK(has(message_after([](facts& f) { f.shmem_enabled = "deny"; }, severity::info),
              {"shmem_enabled is deny", "958", "echo advise >"}));
    CHECK(has(message_after([](facts& f) { f.can_collapse = false; }, severity::info),
              {"/dev/shm", "MADV_COLLAPSE", "mount -o remount,huge=advise '/dev/shm'"}));
    const alteration restored = [](facts& f) {
        f.of.is_made = true;
        f.free_bytes = f.free_memory = 20 * gibi;
    };
    CHECK(has(message_after(restored, severity::info),
              {"8192 MiB that are restored", ": mount -o remount,huge=advise"}));
    CHECK(has(message_after(
                  [&](facts& f) {
                      restored(f);
                      f.huge_enabled = "never";
                  },
                  severity::info),
              {"echo madvise > /sys/kernel/mm/transparent_hugepage/enabled; mount"}));
    for (const alteration& fine : std::vector<alteration>{
             [](facts& f) { f.shmem_enabled = "force"; },
             [](facts& f) { f.shmem_enabled.clear(); }, // a kernel without this setting
             [](facts& f) { f.segment_mount.huge = "within_size"; },
             [](facts& f) { f.segment_mount = {"/var", "ext4"}; },
         })
        CHECK(message_after([&](facts& f) {
                  f.can_collapse = false;
                  fine(f);
              }).empty());
}

TEST_CASE("all that is wrong is said: what costs the state first") {
    facts found = all_is_well();
    found.shmem_enabled = "deny";
    found.free_memory = 0;
    found.state_mount = found.segment_mount;
    const auto all = advise(found);
    REQUIRE(all.size() == 3);
    CHECK(all.front().text.find("restart") != std::string::npos);
    CHECK(all.back().how == severity::info);
}

TEST_CASE("facts: the mount of a state is the innermost one, the last one at its place") {
    const machine one;
    std::string escaped = one.state;
    one.has("proc/self/mountinfo", "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
                                   "no mount at all\n"
                                   "23 22 0:9 / " +
                                       escaped +
                                       " rw shared:7 master:1 - tmpfs tmpfs rw,huge=always\n"
                                       "24 22 0:8 / " +
                                       escaped +
                                       " rw,relatime - tmpfs tmpfs rw,size=9k,huge=within_size\n"
                                       "25 22 0:7 / " +
                                       escaped +
                                       "ment rw - ramfs ramfs rw\n"
                                       "26 24 0:6 / " +
                                       escaped + "/segment/with\\040space rw - xfs xfs rw\n");
    const facts found = one.look();
    CHECK(found.state_mount.point == one.state);
    CHECK(found.state_mount.type == "tmpfs");
    CHECK(found.state_mount.huge == "within_size");
    CHECK(found.segment_mount.is_memory());
    fs::create_directory(one.state / "segment/with space");
    const auto inner =
        facts_of({one.state, one.state / "segment/with space", false, 0, 0}, one.root);
    CHECK(inner.segment_mount.type == "xfs");
    CHECK(inner.segment_mount.huge == "never");
}

TEST_CASE("whether a segment fits into memory, and why not") {
    const auto why_not = [](const alteration& make) {
        facts found = all_is_well(); // a state of 8 GiB
        found.of.is_made = true;
        found.free_bytes = found.free_memory = 12 * gibi;
        make(found);
        return doctor::why_not_in_memory(found);
    };
    CHECK(why_not([](facts&) {}).empty());
    CHECK(why_not([](facts& f) { f.free_bytes = 10 * gibi; }).empty());
    CHECK(has(why_not([](facts& f) { f.free_bytes = 10 * gibi - 1; }),
              {"/dev/shm (tmpfs) has 10239 MiB left, a state of 8192 MiB wants 10 GiB"}));
    CHECK(has(why_not([](facts& f) { f.free_memory = 9 * gibi; }),
              {"the machine's memory has 9216 MiB left"}));
    CHECK(has(why_not([](facts& f) { f.cgroup = {9 * gibi, 64 * gibi, "/a/memory.max"}; }),
              {"/a/memory.max has 9216 MiB left"}));
    CHECK(why_not([](facts& f) { f.cgroup = {11 * gibi, 64 * gibi, "/a/memory.max"}; }).empty());
    CHECK(has(why_not([](facts& f) {
                  f.commit_limit = 20 * gibi;
                  f.committed = 12 * gibi;
              }),
              {"what vm.overcommit_memory=2 allows has 8192 MiB left"}));
    CHECK(has(why_not([](facts& f) { f.segment_mount = {"/", "overlay"}; }),
              {"/ is overlay, not memory"}));
    const auto young = [&](std::uint64_t has, std::uint64_t expected = 0) {
        return why_not([&](facts& f) {
            f.checkpoint_bytes = 0;
            f.free_bytes = has;
            f.of.expected_bytes = expected;
        });
    };
    CHECK(young(256 * mebi).empty());
    CHECK(has(young(64 * mebi), {"has 64 MiB left, a young state wants 256 MiB"}));
    CHECK(has(young(1 * gibi, 4 * gibi), {"a state of 4096 MiB wants 5120 MiB"}));
    const auto grown = [&](std::uint64_t has) { // one that is there
        return why_not([&](facts& f) {
            f.of.is_made = false;
            f.free_bytes = has;
        });
    };
    CHECK(grown(2 * gibi).empty());
    CHECK_FALSE(grown(2 * gibi - 1).empty());
    CHECK(why_not([](facts& f) { f.free_bytes.reset(); }).empty()); // without a limit of its own
}

TEST_CASE("whether a segment fits: swap counts as the machine's memory, as far as a group may") {
    const machine one;
    one.has("proc/self/mountinfo", "23 22 0:9 / / rw - tmpfs tmpfs rw\n");
    struct row {
        const char* available;
        const char* swap;
        const char* group_swap; ///< of a group that has 200 MiB left; empty: no group
        const char* against;    ///< what has too little; empty: it fits
    };
    const row rows[] = {
        // In KiB; a young state wants 256 MiB.
        {"262144", "0", "", ""},
        {"262143", "0", "", "the machine's memory has 255 MiB left"},
        {"262143", "1", "", ""},
        {"0", "262144", "", ""},
        {"131072", "131071", "", "the machine's memory has 255 MiB left"},
        {"1000000", "0", "max", "memory.max has 200 MiB left"},
        {"1000000", "57344", "max", ""},
        {"1000000", "57344", "0", "memory.max has 200 MiB left"},
        {"1000000", "57344", "58720255", "memory.max has 255 MiB left"},
        {"1000000", "57344", "58720256", ""},
        {"100", "57344", "max", "the machine's memory has 56 MiB left"},
    };
    for (const row& each : rows) {
        CAPTURE(each.available, each.swap, each.group_swap);
        one.has("proc/meminfo", std::string("MemAvailable: ") + each.available +
                                    " kB\nSwapTotal: 999999 kB\nSwapFree: " + each.swap + " kB\n");
        one.has("proc/self/cgroup", *each.group_swap ? "0::/node\n" : "");
        one.has("sys/fs/cgroup/node/memory.max", "314572800\n");
        one.has("sys/fs/cgroup/node/memory.current", "104857600\n");
        one.has("sys/fs/cgroup/node/memory.swap.max", each.group_swap);
        facts found = facts_of({one.state, one.state / "segment", true}, one.root);
        found.free_bytes.reset(); // of this machine's file system
        const std::string why = doctor::why_not_in_memory(found);
        if (*each.against)
            CHECK(has(why, {each.against}));
        else
            CHECK(why.empty());
    }
}

TEST_CASE("facts: a control group of the first version") {
    machine one;
    one.has("proc/self/cgroup", "12:cpu:/x\n4:memory:/docker/ab\n1:name=systemd:/\n");
    const auto group = [&](const std::string& name, const char* most, const char* used) {
        one.has("sys/fs/cgroup/memory/" + name + "memory.limit_in_bytes", most);
        one.has("sys/fs/cgroup/memory/" + name + "memory.usage_in_bytes", used);
    };
    group("", "9223372036854771712\n", "5000\n");
    CHECK_FALSE(one.look().cgroup);
    group("docker/ab/", "6000\n", "4000\n");
    REQUIRE(one.look().cgroup);
    CHECK(one.look().cgroup->limit == 6000);
    CHECK(one.look().cgroup->file ==
          one.root / "sys/fs/cgroup/memory/docker/ab/memory.limit_in_bytes");
}

TEST_CASE("facts: of all cgroups above a process the one with the least memory left counts") {
    const machine one;
    one.has("proc/self/cgroup", "4:memory:/other\n0::/pod/node/own\n");
    CHECK_FALSE(one.look().cgroup);
    const auto group = [&](const std::string& name, const char* most, const char* used) {
        one.has("sys/fs/cgroup/" + name + "/memory.max", most);
        one.has("sys/fs/cgroup/" + name + "/memory.current", used);
        one.has("sys/fs/cgroup/" + name + "/memory.swap.max", "0\n");
    };
    group("pod", "5000\n", "2000\n");
    group("pod/node", "6000\n", "4000\n");
    REQUIRE(one.look().cgroup);
    CHECK(one.look().cgroup->file == one.root / "sys/fs/cgroup/pod/node/memory.max");
    CHECK(one.look().cgroup->limit == 6000);
    CHECK(one.look().cgroup->bytes == 2000);
}

TEST_CASE("facts: memory, its commitment, huge pages") {
    const machine one;
    CHECK_FALSE(one.look().free_memory);
    CHECK(one.look().shmem_enabled.empty());
    one.has("proc/meminfo", "MemTotal: 9 kB\nMemAvailable:   5 kB\nSwapFree: 2 kB\n"
                            "CommitLimit: 90 kB\nCommitted_AS: 30 kB\n");
    one.has("proc/sys/vm/overcommit_memory", "0\n");
    one.has("sys/kernel/mm/transparent_hugepage/shmem_enabled", "always advise [deny] force\n");
    one.has("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
    CHECK(one.look().free_memory == 7 * 1024);
    CHECK_FALSE(one.look().commit_limit);
    CHECK(one.look().shmem_enabled == "deny");
    CHECK(one.look().huge_enabled == "always");
    one.has("proc/sys/vm/overcommit_memory", "2\n");
    CHECK(one.look().commit_limit == 90 * 1024);
    CHECK(one.look().committed == 30 * 1024);
}

TEST_CASE("facts: folders above a state that everybody may change, without a sticky bit") {
    const machine one;
    fs::create_directories(one.state / "a/b/segment");
    const auto look = [&] {
        return facts_of({one.state / "a/b", one.state / "a/b/segment", false, 0, 0}, one.root);
    };
    CHECK(look().open_folders.empty());
    fs::permissions(one.state / "a", fs::perms::all);
    REQUIRE(look().open_folders.size() == 1);
    CHECK(look().open_folders.front() == one.state / "a");
    fs::permissions(one.state / "a", fs::perms::all | fs::perms::sticky_bit);
    CHECK(look().open_folders.empty());
}

TEST_CASE("facts: what a state takes, and what this machine has") {
    const machine one;
    write(one.state / "segment/one", std::string(100'000, 'x'));
    write(one.state / "segment/two", std::string(10'000, 'x'));
    write(one.state / "checkpoint/pages", std::string(50'000, 'x'));
    const facts found = facts_of({one.state, one.state / "segment", false, 0, 0});
    CHECK(found.segment_files == 2);
    CHECK(found.segment_bytes >= 110'000);
    CHECK(found.segment_bytes < 200'000);
    CHECK(found.checkpoint_bytes >= 50'000);
    CHECK_FALSE(found.state_mount.point.empty());
    CHECK_FALSE(found.state_mount.type.empty());
    CHECK(found.free_bytes.value_or(0) > 0);
    CHECK(found.mount_bytes >= found.free_bytes);
    CHECK(found.free_for_checkpoints.value_or(0) > 0);
    CHECK(found.free_memory.value_or(0) > 0);
    CHECK(found.addresses > 0);
    const facts made = facts_of({one.state, one.state, true, 0, 0});
    CHECK(made.segment_bytes == 0);
    CHECK(made.checkpoint_bytes >= 50'000);
}

TEST_CASE("facts: what a restore takes is the newest checkpoint, not all that checkpoints hold") {
    const scratch_folder scratch;
    const fs::path state = scratch / "state";
    fs::path segment;
    {
        database db(state, with_checkpoints());
        segment = db.segment_folder();
        db.add_type<item>("item");
        for (std::uint32_t round = 0; round < 3; ++round) { // all pages change each time
            for (std::uint32_t key = 0; key < 20'000; ++key)
                if (round == 0)
                    db.create<item>([&](item& one) { one.key = key; });
                else
                    db.modify(db.get<item, by_key>(key), [&](item& one) { one.value = round; });
            db.make_checkpoint();
        }
        db.close();
    }
    std::uint64_t whole = 0;
    for (const auto& one : fs::directory_iterator(segment))
        if (const fs::path name = one.path().filename();
            name != "header" && name != "catalogue.json")
            whole += one.file_size();
    facts found = facts_of({state, state, true, 0, 0});
    CHECK(found.restored_bytes == whole);
    CHECK(found.checkpoint_bytes > 0);
    found.segment_mount = {"/dev/shm", "tmpfs"};
    found.cgroup.reset();
    found.free_memory = found.commit_limit = std::nullopt;
    found.checkpoint_bytes = 30 * gibi;
    found.free_bytes = 256 * mebi + whole;
    CHECK(doctor::why_not_in_memory(found).empty());
    found.free_bytes = 256 * mebi + whole - 1;
    CHECK_FALSE(doctor::why_not_in_memory(found).empty());
    for (const char* one : {"checkpoint/published.0", "checkpoint/published.1"})
        fs::resize_file(state / one, 10);
    const facts damaged = facts_of({state, state, true, 0, 0});
    CHECK_FALSE(damaged.restored_bytes);
    CHECK(damaged.checkpoint_bytes > 0);
    CHECK_FALSE(facts_of({state, segment, false, 0, 0}).restored_bytes); // it is there
}

TEST_CASE("advice is given once when a state is opened for writing, if that is wished") {
    const scratch_folder scratch;
    fs::create_directory(scratch / "open");
    fs::permissions(scratch / "open", fs::perms::all);
    const fs::path state = scratch / "open" / "state";
    const auto said = [&](open_mode mode, bool wished) {
        const captured_log log;
        open_options how = quick_options(mode);
        how.advise = wished;
        const database db(state, how);
        const std::string text = log.text();
        const std::string sign = "no sticky bit";
        std::ptrdiff_t count = 0;
        for (auto at = text.find(sign); at != std::string::npos; at = text.find(sign, at + 1))
            ++count;
        const bool names_it = text.find(state.string() + ": 1 folder(s)") != std::string::npos;
        CHECK(names_it == (count == 1));
        return count;
    };
    CHECK(said(open_mode::read_write, true) == 1); // the state is created
    CHECK(said(open_mode::read_write, true) == 1);
    CHECK(said(open_mode::read_only, true) == 0);
    CHECK(said(open_mode::read_write, false) == 0);
}
