// What the kernel is told about the pages of files on a disk, and reads that wait together.

#include <pool_allocator/address_space.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/disk_pages.hpp>
#include <pool_allocator/window.hpp>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <tests/support/child_process.hpp>
#include <tests/support/temporary_folder.hpp>

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

bool is_on_disk(const std::filesystem::path& folder) {
    const temporary_folder probe(folder);
    std::ofstream(probe / "file") << "x";
    const file_descriptor file(::open((probe / "file").c_str(), O_RDONLY | O_CLOEXEC));
    return disk_pages::has(file.number());
}

} // namespace

TEST_CASE(
    "files that memory has room for get huge pages, others small ones without reading ahead") {
    if (!is_on_disk(disk_folder())) {
        WARN("skipped: the working folder is in memory");
        return;
    }
    const temporary_folder folder(disk_folder());
    const address_space range(std::size_t{64} << 20, 2);
    window large = window::create({&range, 0}, folder / "large", shape);
    large.grow_to(std::size_t{20} << 20);
    CHECK(has(large.base(), "hg"));
    CHECK(!disk_pages::are_missed());
    {
        const assumed_room little(std::uint64_t{10} << 20);
        const window small = window::create({&range, 1}, folder / "small", shape);
        CHECK(!disk_pages::are_missed()); // a new file takes nothing yet
    }
    const assumed_room little(std::uint64_t{10} << 20);
    const address_space elsewhere(std::size_t{64} << 20, 1);
    {
        const window again =
            window::open({&elsewhere, 0}, folder / "large", shape, window::mode::read_only);
        CHECK(disk_pages::are_missed());
        for (const void* at :
             {static_cast<const void*>(again.base()), static_cast<const void*>(large.base())}) {
            CHECK(has(at, "nh"));
            CHECK(has(at, "rr"));
            CHECK(!has(at, "hg"));
        }
        disk_pages::assume_room(std::uint64_t{1} << 40);
        CHECK(comes_true([] { return !disk_pages::are_missed(); }));
        CHECK(has(large.base(), "hg"));
        CHECK(!has(large.base(), "rr"));
    }
}

TEST_CASE("files in memory have huge pages, whatever room there is") {
    const std::filesystem::path memory = memory_or_disk();
    if (is_on_disk(memory)) {
        WARN("skipped: there is no folder in memory");
        return;
    }
    const temporary_folder folder(memory);
    const assumed_room none(1);
    const address_space range(std::size_t{64} << 20, 1);
    window file = window::create({&range, 0}, folder / "file", shape);
    file.grow_to(std::size_t{20} << 20);
    CHECK(has(file.base(), "hg"));
    CHECK(!disk_pages::are_missed());
}

TEST_CASE("each part is looked at once, by several threads, and a failure is thrown") {
    std::array<std::atomic<int>, 100> looked{};
    std::atomic<int> at_once{0};
    std::atomic<int> most{0};
    disk_pages::together(looked.size(), [&](std::size_t part) {
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
    CHECK_THROWS_AS(disk_pages::together(10,
                                         [](std::size_t part) {
                                             if (part == 7) throw not_found_error("seven");
                                         }),
                    not_found_error);
    // A call within another one takes its own turn.
    std::atomic<int> inner{0};
    disk_pages::together(
        4, [&](std::size_t) { disk_pages::together(4, [&](std::size_t) { ++inner; }); });
    CHECK(inner == 16);
}

TEST_CASE("a fork has threads of its own") {
    disk_pages::together(2, [](std::size_t) {});
    CHECK(succeeds_in_child([] {
        std::atomic<int> looked{0};
        disk_pages::together(10, [&](std::size_t) { ++looked; });
        if (looked != 10) std::abort();
    }));
}
