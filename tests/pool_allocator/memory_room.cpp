// Memory that is left: in the machine, with swap, and in the control groups of a process.

#include <pool_allocator/base/file_descriptor.hpp>
#include <pool_allocator/base/resource_limits.hpp>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/swap.h>
#include <tests/support/scratch_state.hpp>
#include <tests/support/temporary_folder.hpp>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

using namespace chainbase;
using namespace chainbase::test;

// What control groups leave, read from folders that look like theirs.

namespace {

/// A hierarchy of control groups, made up.
class made_up_groups {
public:
    made_up_groups() { write("own", "1:name=systemd:/elsewhere\n0::/outer/inner\n"); }

    void write(const std::string& file, const std::string& text) {
        const auto at = folder_ / file;
        std::filesystem::create_directories(at.parent_path());
        std::ofstream(at) << text;
    }
    [[nodiscard]] std::optional<resource_limits::memory_room> room() const {
        return resource_limits::least_memory_room(folder_ / "own", folder_ / "top",
                                                  folder_ / "meminfo");
    }
    void remove(const std::string& file) { std::filesystem::remove(folder_ / file); }
    [[nodiscard]] std::filesystem::path at(const std::string& name) const { return folder_ / name; }

private:
    scratch_folder folder_;
};

} // namespace

TEST_CASE("the group with the least room counts, caches do not") {
    made_up_groups groups;
    CHECK_FALSE(groups.room());
    groups.write("top/outer/memory.max", "max\n");
    groups.write("top/outer/memory.current", "5000\n");
    CHECK_FALSE(groups.room());
    groups.write("top/outer/inner/memory.max", "100000\n");
    CHECK_FALSE(groups.room()); // what is used is not known
    groups.write("top/outer/inner/memory.current", "60000\n");
    groups.write("top/outer/inner/memory.swap.max", "0\n");
    REQUIRE(groups.room());
    CHECK(groups.room()->bytes == 40'000);
    CHECK(groups.room()->limit == 100'000);
    CHECK(groups.room()->file == groups.at("top/outer/inner/memory.max"));
    groups.write("top/outer/inner/memory.stat",
                 "anon 10\nfile 30000\nshmem 20000\ninactive_file 7000\nactive_file 3000\n"
                 "slab_reclaimable 500\n");
    CHECK(groups.room()->bytes == 50'500);
    groups.write("top/outer/memory.max", "6000\n");
    groups.write("top/outer/memory.swap.max", "0\n");
    CHECK(groups.room()->bytes == 1000);
    CHECK(groups.room()->file == groups.at("top/outer/memory.max"));
    groups.write("top/outer/memory.current", "7000\n"); // a limit that was lowered
    CHECK(groups.room()->bytes == 0);
    groups.write("own", "0::/../outer\n"); // of another namespace
    groups.write("outer/memory.max", "10\n");
    groups.write("outer/memory.current", "10\n");
    CHECK_FALSE(groups.room());
    groups.write("own", "4:memory:/outer/inner\n"); // version 1 has other files
    CHECK_FALSE(groups.room());
}

TEST_CASE("of a group of the first version the limit with swap counts, too") {
    made_up_groups groups;
    groups.write("own", "5:cpu,memory:/a:b/inner\n0::/\n");
    const std::string mount = GENERATE("memory", "cpu,memory");
    const auto write = [&](const std::string& file, const char* text) {
        groups.write("top/" + mount + "/a:b/inner/" + file, text);
    };
    write("memory.limit_in_bytes", "100000\n");
    write("memory.usage_in_bytes", "60000\n");
    REQUIRE(groups.room());
    CHECK(groups.room()->bytes == 40'000);
    groups.write("meminfo", "SwapFree: 2 kB\n"); // as the first limit allows
    CHECK(groups.room()->bytes == 42'048);
    write("memory.memsw.limit_in_bytes", "110000\n");
    write("memory.memsw.usage_in_bytes", "80000\n");
    CHECK(groups.room()->bytes == 30'000);
    CHECK(groups.room()->limit == 110'000);
    CHECK(groups.room()->file ==
          groups.at("top/" + mount + "/a:b/inner/memory.memsw.limit_in_bytes"));
    write("memory.stat", "inactive_file 5000\n");
    CHECK(groups.room()->bytes == 35'000);
    write("memory.memsw.limit_in_bytes", "9223372036854771712\n"); // none
    CHECK(groups.room()->bytes == 47'048);
    groups.write("own", "5:cpu,memoryless:/a:b/inner\n");
    CHECK_FALSE(groups.room());
}

TEST_CASE("of the machine's swap a group has as much as it may use and is free") {
    made_up_groups groups;
    groups.write("top/outer/inner/memory.max", "100000\n");
    groups.write("top/outer/inner/memory.current", "60000\n");
    struct row {
        const char* machine; ///< what it says; none: no swap is known
        const char* most;    ///< that the group may have; empty: no such file
        const char* taken;
        std::uint64_t room;
    };
    const row rows[] = {
        {"SwapTotal: 0 kB\nSwapFree: 0 kB\n", "max\n", "0\n", 40'000},
        {"MemFree: 9 kB\n", "max\n", "0\n", 40'000},
        {"SwapTotal: 90 kB\nSwapFree: 10 kB\n", "max\n", "0\n", 50'240},
        {"SwapTotal: 90 kB\nSwapFree: 10 kB\n", "", "", 50'240},
        {"SwapTotal: 90 kB\nSwapFree: 10 kB\n", "0\n", "0\n", 40'000},
        {"SwapTotal: 90 kB\nSwapFree: 10 kB\n", "4096\n", "0\n", 44'096},
        {"SwapTotal: 90 kB\nSwapFree: 10 kB\n", "4096\n", "4000\n", 40'096},
        {"SwapTotal: 90 kB\nSwapFree: 10 kB\n", "4096\n", "5000\n", 40'000}, // it was lowered
        {"SwapTotal: 90 kB\nSwapFree: 10 kB\n", "400000\n", "1000\n", 50'240},
    };
    for (const row& one : rows) {
        CAPTURE(one.machine, one.most, one.taken);
        groups.write("meminfo", one.machine);
        groups.write("top/outer/inner/memory.swap.max", one.most);
        groups.write("top/outer/inner/memory.swap.current", one.taken);
        if (*one.most == 0) groups.remove("top/outer/inner/memory.swap.max");
        REQUIRE(groups.room());
        CHECK(groups.room()->bytes == one.room);
    }
}

// Swap of the machine, which only root changes.

namespace {

/// A file on a disk that the machine swaps to, for its lifetime.
class swap_file {
public:
    static constexpr std::size_t bytes = std::size_t{16} << 20;

    swap_file() {
        std::string content(bytes, '\0');
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        const std::uint32_t begin[] = {1, static_cast<std::uint32_t>(bytes / page - 1), 0};
        std::memcpy(content.data() + 1024, begin, sizeof begin); // version, last page, bad ones
        content.replace(page - 10, 10, "SWAPSPACE2");
        write_all(at_, content);
        std::filesystem::permissions(at_, std::filesystem::perms(0600));
        const file_descriptor file(::open(at_.c_str(), O_RDONLY | O_CLOEXEC));
        fsync(file.number());
        if (::swapon(at_.c_str(), 0) != 0) why_not_ = std::strerror(errno);
    }
    swap_file(const swap_file&) = delete;
    swap_file& operator=(const swap_file&) = delete;
    ~swap_file() {
        if (why_not_.empty()) (void)::swapoff(at_.c_str());
    }
    [[nodiscard]] const std::string& why_not() const noexcept { return why_not_; }

private:
    temporary_folder folder_{std::filesystem::current_path()};
    std::string at_ = folder_ / "swap";
    std::string why_not_;
};

} // namespace

TEST_CASE("swap that is turned on and off while a process runs counts as room, and no more") {
    made_up_groups groups;
    groups.write("top/outer/inner/memory.max", "100000\n");
    groups.write("top/outer/inner/memory.current", "60000\n");
    const auto room = [&] {
        return resource_limits::least_memory_room(groups.at("own"), groups.at("top"))->bytes;
    };
    constexpr std::uint64_t most = swap_file::bytes / 4 * 3; // others may swap meanwhile
    const std::uint64_t before = room();
    {
        const swap_file more;
        if (!more.why_not().empty()) {
            WARN("skipped: may not turn swap on: " << more.why_not());
            return;
        }
        CHECK(room() > before + most);
        groups.write("top/outer/inner/memory.swap.max", "4096\n");
        CHECK(room() == 44'096);
        groups.remove("top/outer/inner/memory.swap.max");
    }
    CHECK(room() < before + most);
}

TEST_CASE("what the machine has left of memory is what the kernel says") {
    made_up_groups groups;
    groups.write("meminfo", "MemTotal:  900 kB\nMemAvailable:     77 kB\nBuffers: 5 kB\n");
    CHECK(resource_limits::available_memory(groups.at("meminfo")) == 77 << 10);
    groups.write("meminfo", "MemTotal:  900 kB\n");
    CHECK_FALSE(resource_limits::available_memory(groups.at("meminfo")));
    CHECK_FALSE(resource_limits::available_memory(groups.at("none")));
}

TEST_CASE("what is kept free of a group's memory is a small part of it") {
    for (const std::uint64_t limit : {std::uint64_t{64} << 20, std::uint64_t{8} << 30}) {
        const std::uint64_t kept = resource_limits::kept_memory({0, limit, {}});
        CHECK(kept >= std::uint64_t{1} << 20);
        CHECK(kept <= limit / 32);
    }
}
