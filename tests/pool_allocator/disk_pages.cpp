// What the kernel is told about the pages of files on a disk, and reads that wait together.

#include <pool_allocator/address_space.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_descriptor.hpp>
#include <pool_allocator/base/page_cache.hpp>
#include <pool_allocator/disk_pages.hpp>
#include <pool_allocator/window.hpp>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/mman.h>
#include <tests/support/child_process.hpp>
#include <tests/support/lowered_limit.hpp>
#include <tests/support/temporary_folder.hpp>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

using namespace chainbase;
using namespace chainbase::test;

namespace {

constexpr window::geometry shape{window_kind::objects, 64, window_header::page_bytes};

struct assumed_room {
    explicit assumed_room(std::uint64_t bytes) { disk_pages::assume_room(bytes); }
    ~assumed_room() { disk_pages::assume_room(0); }
};

/// " rd wr sh mr hg ": the flags of the mapping at an address, which smaps names by two letters.
std::string flags_at(const void* address) {
    std::ostringstream begin;
    begin << std::hex << reinterpret_cast<std::uintptr_t>(address) << '-';
    std::ifstream maps("/proc/self/smaps");
    bool is_here = false;
    for (std::string line; std::getline(maps, line);) {
        if (line.find('-') != std::string::npos && line.find(':') != std::string::npos &&
            std::isxdigit(static_cast<unsigned char>(line[0])) != 0 &&
            line.find("kB") == std::string::npos)
            is_here = line.starts_with(begin.str());
        if (is_here && line.starts_with("VmFlags:")) return line.substr(8) + ' ';
    }
    return {};
}

bool has(const void* address, const std::string& flag) {
    return flags_at(address).find(' ' + flag + ' ') != std::string::npos;
}

template <typename Condition>
bool comes_true(Condition&& condition) {
    for (int i = 0; i < 1000 && !condition(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return condition();
}

/// A folder on a disk: the working folder of a build, if it is on one.
std::filesystem::path disk_folder() {
    return std::filesystem::current_path();
}

/// The file of a window of a state on a disk, and the addresses of that state.
class file_of_state {
public:
    file_of_state(const temporary_folder& in, const char* name, std::size_t bytes)
        : file_(in / name), bytes_(bytes) {
        window made = window::create({&range_, 0}, file_, shape);
        made.grow_to(bytes);
        made.sync();
    }
    [[nodiscard]] window open() const {
        return window::open({&range_, 0}, file_, shape, window::mode::read_write);
    }
    [[nodiscard]] std::uint64_t resident() const {
        return cached_bytes_of(file_).resident.value_or(0);
    }
    /// Lets the kernel drop it; false where it keeps it.
    [[nodiscard]] bool leave_memory() const {
        const file_descriptor file(::open(file_.c_str(), O_RDONLY | O_CLOEXEC));
        return comes_true([&] {
            posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED);
            return resident() < bytes_ / 8;
        });
    }
    /// Whether this process has it open.
    [[nodiscard]] bool is_open() const {
        for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
            std::error_code gone;
            if (std::filesystem::read_symlink(entry, gone) == std::filesystem::path(file_))
                return true;
        }
        return false;
    }

private:
    std::string file_;
    std::size_t bytes_;
    address_space range_{std::size_t{128} << 20, 1};
};

/// Whether the thread that reads files into memory runs.
bool is_read_by_thread() {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::ifstream(task.path() / "comm") >> name;
        if (name == "disk_pages") return true;
    }
    return false;
}

void wait_a_while() { // more than a round of that thread
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
}

} // namespace

TEST_CASE("files on a disk have small pages, and are brought into memory if there is room") {
    if (is_memory(disk_folder())) {
        WARN("skipped: the working folder is in memory");
        return;
    }
    constexpr std::size_t bytes = std::size_t{20} << 20;
    const temporary_folder folder(disk_folder());
    const address_space range(std::size_t{64} << 20, 1);
    {
        window file = window::create({&range, 0}, folder / "file", shape);
        file.grow_to(bytes);
        for (const char* flag : {"nh", "rr"})
            CHECK(has(file.base(), flag));
        CHECK(!has(file.base(), "hg"));
        file.sync();
    }
    const file_descriptor file(::open((folder / "file").c_str(), O_RDONLY | O_CLOEXEC));
    const auto resident = [&] { return cached_bytes_of(folder / "file").resident.value_or(0); };
    const auto drop = [&] { return posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED) == 0; };
    REQUIRE(comes_true([&] { return drop() && resident() < bytes / 2; }));
    const auto open = [&](const address_space& in, window::mode how) {
        return window::open({&in, 0}, folder / "file", shape, how);
    };
    {
        const assumed_room little(bytes / 2);
        const window here = open(range, window::mode::read_write);
        wait_a_while();
        CHECK(resident() < bytes / 2);
    }
    const assumed_room plenty(2 * bytes);
    {
        const address_space elsewhere(std::size_t{64} << 20, 1);
        const window only_read = open(elsewhere, window::mode::read_only);
        CHECK(has(only_read.base(), "nh"));
        wait_a_while();
        CHECK(resident() < bytes / 2);
        disk_pages::assume_room(bytes / 2);
        disk_pages::read_all(only_read.base());
        wait_a_while();
        CHECK(resident() < bytes / 2);
        disk_pages::assume_room(2 * bytes);
        disk_pages::read_all(only_read.base());
        CHECK(comes_true([&] { return resident() >= bytes; }));
    }
    REQUIRE(comes_true([&] { return drop() && resident() < bytes / 2; }));
    const window here = open(range, window::mode::read_write);
    CHECK(comes_true([&] { return resident() >= bytes; }));
}

TEST_CASE("of states that memory has no room for together no more is read than there is room") {
    if (is_memory(disk_folder())) {
        WARN("skipped: the working folder is in memory");
        return;
    }
    constexpr std::size_t bytes = std::size_t{24} << 20;
    constexpr std::uint64_t room = bytes + bytes / 2;
    const assumed_room for_one(room);
    const temporary_folder folder(disk_folder());
    const file_of_state one(folder, "one", bytes);
    const file_of_state other(folder, "other", bytes);
    REQUIRE((one.leave_memory() && other.leave_memory()));
    {
        const window both[] = {one.open(), other.open()};
        wait_a_while();
        CHECK(one.resident() + other.resident() <= room);
    }
    REQUIRE((one.leave_memory() && other.leave_memory()));
    {
        const window first = one.open();
        CHECK(comes_true([&] { return one.resident() >= bytes; }));
        const window second = other.open();
        wait_a_while();
        CHECK(one.resident() + other.resident() <= room);
    }
    const window alone = other.open();
    CHECK(comes_true([&] { return other.resident() >= bytes; }));
}

TEST_CASE("a window that is destroyed while its file is read into memory: reading ends") {
    if (is_memory(disk_folder())) {
        WARN("skipped: the working folder is in memory");
        return;
    }
    const temporary_folder folder(disk_folder());
    constexpr std::size_t bytes = std::size_t{96} << 20; // a dozen steps of the thread
    const assumed_room plenty(4 * bytes);
    const file_of_state state(folder, "file", bytes);
    for (int times = 0; times < 20; ++times) {
        REQUIRE(state.leave_memory());
        {
            const window here = state.open();
            std::this_thread::sleep_for(std::chrono::microseconds(100 * times));
        }
        REQUIRE(comes_true([&] { return !is_read_by_thread() && !state.is_open(); }));
        const std::uint64_t read = state.resident();
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        CHECK(state.resident() <= read);
    }
}

TEST_CASE("a process that waits for the disk often knows it, until it does not any more") {
    if (is_memory(disk_folder())) {
        WARN("skipped: the working folder is in memory");
        return;
    }
    const temporary_folder folder(disk_folder());
    const address_space range(std::size_t{64} << 20, 1);
    window file = window::create({&range, 0}, folder / "file", shape);
    file.grow_to(std::size_t{32} << 20);
    for (std::size_t at = window_header::page_bytes; at < file.bytes();
         at += window_header::page_bytes)
        file.base()[at] = std::byte{1}; // else there is nothing to be read
    file.sync();
    CHECK(!disk_pages::are_missed());
    const auto read_from_disk = [&] {
        madvise(file.base(), file.bytes(), MADV_DONTNEED); // the file has it
        const file_descriptor again(::open((folder / "file").c_str(), O_RDONLY | O_CLOEXEC));
        posix_fadvise(again.number(), 0, 0, POSIX_FADV_DONTNEED);
        for (std::size_t at = 0; at < file.bytes(); at += window_header::page_bytes)
            (void)*static_cast<volatile std::byte*>(file.base() + at);
    };
    CHECK(comes_true([&] {
        read_from_disk();
        return disk_pages::are_missed();
    }));
    CHECK(comes_true([] { return !disk_pages::are_missed(); }));
}

TEST_CASE("a process whose file grows does not wait for the disk") {
    if (is_memory(disk_folder())) {
        WARN("skipped: the working folder is in memory");
        return;
    }
    const temporary_folder folder(disk_folder());
    const address_space range(std::size_t{64} << 20, 1);
    window file = window::create({&range, 0}, folder / "file", shape);
    std::size_t at = window_header::page_bytes;
    while (file.bytes() < std::size_t{48} << 20) { // some 130 steps
        file.grow_to(file.bytes() + window_header::page_bytes);
        for (; at < file.bytes(); at += window_header::page_bytes)
            file.base()[at] = std::byte{1}; // a page that it never had
        REQUIRE(!disk_pages::are_missed());
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

TEST_CASE("files in memory have huge pages") {
    const std::filesystem::path memory = memory_or_disk();
    if (!is_memory(memory)) {
        WARN("skipped: there is no folder in memory");
        return;
    }
    const temporary_folder folder(memory);
    const address_space range(std::size_t{64} << 20, 1);
    window file = window::create({&range, 0}, folder / "file", shape);
    file.grow_to(std::size_t{20} << 20);
    CHECK(has(file.base(), "hg"));
}

TEST_CASE("each part is looked at once, by several threads, and a failure is thrown") {
    std::array<std::atomic<int>, 100> looked{};
    std::atomic<int> at_once{0};
    std::atomic<int> most{0};
    disk_pages::in_parallel(looked.size(), [&](std::size_t part) {
        const int now = ++at_once;
        int known = most;
        while (known < now && !most.compare_exchange_weak(known, now)) {
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        ++looked[part];
        --at_once;
    });
    CHECK(std::all_of(looked.begin(), looked.end(), [](const auto& times) { return times == 1; }));
    CHECK(most > 8);
    CHECK_THROWS_AS(disk_pages::in_parallel(10,
                                            [](std::size_t part) {
                                                if (part == 7) throw not_found_error("seven");
                                            }),
                    not_found_error);
    // A call within another one takes its own turn.
    std::atomic<int> inner{0};
    disk_pages::in_parallel(
        4, [&](std::size_t) { disk_pages::in_parallel(4, [&](std::size_t) { ++inner; }); });
    CHECK(inner == 16);
}

#ifndef __SANITIZE_THREAD__ // it allows no threads in a fork
TEST_CASE("a fork has threads of its own") {
    disk_pages::in_parallel(2, [](std::size_t) {});
    CHECK(succeeds_in_child([] {
        std::atomic<int> looked{0};
        disk_pages::in_parallel(10, [&](std::size_t) { ++looked; });
        if (looked != 10) std::abort();
    }));
}
#endif

#ifdef __has_feature
#define SANITIZED __has_feature(address_sanitizer)
#else
#define SANITIZED 0
#endif
// It takes addresses at any time, so none can be left to few threads; or allows none in a fork.
#if !SANITIZED && !defined(__SANITIZE_THREAD__)
TEST_CASE("where only some threads can be started, these do all parts") {
    std::ifstream statm("/proc/self/statm");
    std::uint64_t pages = 0;
    statm >> pages;
    const rlim_t addresses = pages * 4096 + (std::uint64_t{100} << 20); // a few stacks of 8 MiB
    CHECK(succeeds_in_child([&] {
        alarm(60); // a thread that waits for ever
        const lowered_limit limit(RLIMIT_AS, addresses);
        for (int times = 0; times < 3; ++times) {
            std::atomic<int> done{0};
            disk_pages::in_parallel(64, [&](std::size_t) { ++done; });
            if (done != 64) std::abort();
        }
    }));
}
#endif
