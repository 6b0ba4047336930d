#include <chainbase/checkpoint/publication.hpp>
#include <chainbase/segment/doctor.hpp>
#include <pool_allocator/base/decimal.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/window.hpp>

#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/predicate.hpp>
#include <boost/algorithm/string/split.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#ifndef MADV_COLLAPSE // Linux 6.1; the C library's header is older
#define MADV_COLLAPSE 25
#endif

namespace chainbase::doctor {

namespace fs = std::filesystem;

namespace {

using possible = std::optional<advice>;

constexpr std::uint64_t mebi = std::uint64_t{1} << 20;
constexpr std::uint64_t gibi = std::uint64_t{1} << 30;

/// The growth allowed for a young or small state before its operator looks again.
constexpr std::uint64_t least_growth = 256 * mebi;
/// Files of the buffers, the log and some types.
constexpr std::uint64_t young_files = 48;
/// The archive's budget of files, and the node's other files: logs, checkpoints, peers.
constexpr std::uint64_t archive_files = 256;
constexpr std::uint64_t other_files = 128;

std::string in_words(std::uint64_t bytes) {
    if (bytes >= 10 * gibi) return fmt::format("{} GiB", bytes / gibi);
    return fmt::format("{} MiB", bytes / mebi);
}

std::uint64_t gibibytes_above(std::uint64_t bytes) {
    return bytes / gibi + 1;
}

std::uint64_t left(std::uint64_t limit, std::uint64_t used) {
    return limit - std::min(limit, used);
}

/// The size of the segment, now or after it is restored.
std::uint64_t state_bytes(const facts& found) {
    if (!found.of.is_made) return found.segment_bytes;
    return std::max(found.restored_bytes.value_or(found.checkpoint_bytes), found.of.expected_bytes);
}

std::uint64_t growth(const facts& found) {
    return std::max(state_bytes(found) / 4, least_growth);
}

/// The space that opening and some growth take from the file system.
std::uint64_t wanted(const facts& found) {
    return (found.of.is_made ? state_bytes(found) : 0) + growth(found);
}

/// The further space that checkpoints take: both together up to three times the state.
std::uint64_t wanted_for_checkpoints(const facts& found) {
    return left(3 * state_bytes(found), found.checkpoint_bytes) + growth(found);
}

std::string size_in_words(const facts& found) {
    const std::uint64_t size = state_bytes(found);
    return size < mebi ? "a young state" : "a state of " + in_words(size);
}

std::string purpose(const facts& found) {
    return fmt::format("{} wants {}", size_in_words(found), in_words(wanted(found)));
}

possible nothing_survives(const facts& found) {
    if (!found.state_mount.is_memory()) return {};
    return advice{severity::warn,
                  fmt::format("the state folder is on {} at {}, with its checkpoints: nothing of "
                              "it survives a restart of the machine; move it to a disk, and keep "
                              "only the segment in memory: --memory-folder {} "
                              "(open_options::memory_folder)",
                              found.state_mount.type, found.state_mount.point.string(),
                              quoted(found.state_mount.point))};
}

possible open_to_everybody(const facts& found) {
    if (found.open_folders.empty()) return {};
    std::vector<std::string> names;
    for (const std::filesystem::path& folder : found.open_folders)
        names.push_back(quoted(folder));
    const std::string all = fmt::format("{}", fmt::join(names, " "));
    return advice{severity::warn,
                  fmt::format("{} folder(s) above it are writable for everybody and have no sticky "
                              "bit, so anybody may put another state in its place: chmod o-w -- {}",
                              names.size(), all)};
}

possible too_few_addresses(const facts& found) {
    const std::uint64_t of_windows = std::uint64_t{found.of.window_bytes} * found.of.windows;
    const std::uint64_t reserved = of_windows + of_windows / window_header::page_bytes;
    if (!found.address_limit || left(*found.address_limit, found.addresses) > reserved) return {};
    constexpr std::uint64_t kibi = 1024;
    return advice{
        severity::warn,
        fmt::format("RLIMIT_AS leaves {} of addresses, but {} windows reserve {} (addresses, not "
                    "memory), so opening fails: ulimit -v unlimited (or {}); a program that "
                    "makes a new state may also ask for fewer or smaller windows",
                    in_words(left(*found.address_limit, found.addresses)), found.of.windows,
                    in_words(reserved), (found.addresses + reserved + gibi) / kibi)};
}

possible too_few_files(const facts& found) {
    const std::uint64_t segment = std::max<std::uint64_t>(found.segment_files, young_files);
    const std::uint64_t needed = segment + archive_files + other_files;
    if (!found.file_limit || *found.file_limit >= needed) return {};
    return advice{severity::warn,
                  fmt::format("RLIMIT_NOFILE is {}, but the segment keeps {} files open, the "
                              "archive up to {} and a node {} more, so opening a file fails in "
                              "the middle of the work: ulimit -n {}",
                              *found.file_limit, segment, archive_files, other_files,
                              std::max<std::uint64_t>(needed, 1024))};
}

std::string cure_of_full_disk(const mount& full) {
    return fmt::format("free space there (df -h {})", quoted(full.point));
}

possible too_little_room(const facts& found) {
    if (!found.free_bytes || *found.free_bytes >= wanted(found)) return {};
    const mount& full = found.segment_mount;
    const std::string cure =
        full.type == "tmpfs" ? fmt::format("mount -o remount,size={}G {}",
                                           gibibytes_above(found.mount_bytes +
                                                           left(wanted(found), *found.free_bytes)),
                                           quoted(full.point))
                             : cure_of_full_disk(full);
    return advice{severity::warn, fmt::format("{} ({}) has {} left, {}; operations fail when it is "
                                              "full: {}",
                                              full.point.string(), full.type,
                                              in_words(*found.free_bytes), purpose(found), cure)};
}

/// On these file systems fallocate reserves space for the first write to a place, not for rewrites.
/// A store without space raises SIGBUS.
possible copies_on_write(const facts& found) {
    const mount& at = found.segment_mount;
    if (at.type != "btrfs" && at.type != "bcachefs" && at.type != "zfs") return {};
    return advice{severity::warn,
                  fmt::format("{} is {}, which writes each page to a new place: when it is full, "
                              "the process ends (SIGBUS) and the state stays at the last block; "
                              "keep the segment in memory (--memory-folder /dev/shm), or on "
                              "btrfs make its folder with chattr +C, and take no snapshots",
                              at.point.string(), at.type)};
}

/// Only where the segment is in memory; else both are on one disk, or it is unknown.
possible too_little_room_for_checkpoints(const facts& found) {
    if (!found.of.makes_checkpoints || !found.free_for_checkpoints) return {};
    if (!found.segment_mount.is_memory() || found.state_mount.is_memory()) return {};
    const std::uint64_t needed = wanted_for_checkpoints(found);
    if (*found.free_for_checkpoints >= needed) return {};
    return advice{severity::warn,
                  fmt::format("{} ({}) has {} left, the checkpoints of {} want {} (they take up "
                              "to three times the state); when it is full, no checkpoint is "
                              "made, and a restart goes back to the last one: {}",
                              found.state_mount.point.string(), found.state_mount.type,
                              in_words(*found.free_for_checkpoints), size_in_words(found),
                              in_words(needed), cure_of_full_disk(found.state_mount))};
}

possible too_small_cgroup(const facts& found) {
    if (!found.cgroup) return {};
    const auto& [room, limit, file] = *found.cgroup;
    // Files in memory that were created in this cgroup count as its use.
    const bool fits = limit >= state_bytes(found) + least_growth;
    if (fits && room >= (found.of.is_made ? wanted(found) : least_growth)) return {};
    const std::string cost =
        found.segment_mount.is_memory()
            ? "the kernel kills a process that goes beyond it, whatever the file system has left"
            : "pages of the segment are read from its disk again and again";
    const std::uint64_t enough =
        std::max(left(limit, room), found.of.is_made ? 0 : state_bytes(found)) + wanted(found);
    return advice{severity::warn,
                  fmt::format("{} allows {}, of which {} are left, {}; {}: echo {}G > {}, or "
                              "MemoryMax= of the service",
                              file.string(), in_words(limit), in_words(room), purpose(found), cost,
                              gibibytes_above(enough), quoted(file))};
}

possible too_little_memory(const facts& found) {
    if (!found.segment_mount.is_memory() || !found.free_memory) return {};
    if (*found.free_memory >= wanted(found)) return {};
    return advice{severity::warn,
                  fmt::format("the machine has {} of memory and swap left, {}; the kernel then "
                              "kills processes, whatever {} allows: stop something (ps aux "
                              "--sort=-rss), or open the state without --memory-folder, on its "
                              "disk",
                              in_words(*found.free_memory), purpose(found),
                              found.segment_mount.point.string())};
}

/// Pages of tmpfs count, reserved addresses (PROT_NONE) do not.
possible too_little_commit(const facts& found) {
    if (!found.commit_limit || !found.segment_mount.is_memory()) return {};
    const std::uint64_t room = left(*found.commit_limit, found.committed);
    if (room >= wanted(found)) return {};
    return advice{severity::warn,
                  fmt::format("memory is not overcommitted (vm.overcommit_memory=2) and {} of {} "
                              "are left, {}; operations fail when none is left: sysctl "
                              "vm.overcommit_memory=0, or a larger vm.overcommit_ratio",
                              in_words(room), in_words(*found.commit_limit), purpose(found))};
}

/// Files that grow get huge pages by MADV_COLLAPSE, whatever the mount says.
possible no_huge_pages(const facts& found) {
    if (found.segment_mount.type != "tmpfs") return {};
    if (found.shmem_enabled.empty()) return {}; // the kernel has none
    constexpr const char* cost = "lookups take about a third longer (958 instead of 704 ns)";
    const std::string point = found.segment_mount.point.string();
    if (found.shmem_enabled == "deny")
        return advice{
            severity::info,
            fmt::format("huge pages are off for all of tmpfs (shmem_enabled is deny), {}: "
                        "echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled",
                        cost)};
    if (found.segment_mount.huge != "never" || found.shmem_enabled == "force") return {};
    if (!found.can_collapse)
        return advice{severity::info,
                      fmt::format("{} gives no huge pages (huge=never), and the kernel has no "
                                  "MADV_COLLAPSE (Linux 6.1), {}: mount -o remount,huge=advise {}",
                                  point, cost, quoted(found.segment_mount.point))};
    if (!found.of.is_made || state_bytes(found) < least_growth) return {};
    const bool is_idle = found.huge_enabled == "never"; // khugepaged, which makes them later
    return advice{severity::info,
                  fmt::format("{} gives no huge pages (huge=never), so the {} that are restored "
                              "get none, {}: {}mount -o remount,huge=advise {}",
                              point, in_words(state_bytes(found)), cost,
                              is_idle
                                  ? "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled;"
                                    " "
                                  : "",
                              quoted(found.segment_mount.point))};
}

} // namespace

std::string why_not_in_memory(const facts& found) {
    const mount& at = found.segment_mount;
    if (!at.is_memory())
        return fmt::format("{} is {}, not memory", at.point.string(),
                           at.type.empty() ? "unknown" : at.type);
    std::string why;
    const auto require = [&](const std::string& what, std::optional<std::uint64_t> has) {
        if (why.empty() && has && *has < wanted(found))
            why = fmt::format("{} has {} left, {}", what, in_words(*has), purpose(found));
    };
    require(fmt::format("{} ({})", at.point.string(), at.type), found.free_bytes);
    require("the machine's memory", found.free_memory);
    if (found.cgroup) require(found.cgroup->file.string(), found.cgroup->bytes);
    if (found.commit_limit)
        require("what vm.overcommit_memory=2 allows", left(*found.commit_limit, found.committed));
    return why;
}

preference preferred_place(const fs::path& state) {
    const char* const named = ::secure_getenv("CHAINBASE_MEMORY_FOLDER");
    if (named && std::string_view(named) == "none") return {{}, "CHAINBASE_MEMORY_FOLDER is none"};
    preference found{named && *named ? named : "/dev/shm", {}};
    if (is_memory(state)) found.why_not = "the state folder is in memory itself";
    return found;
}

std::vector<advice> advise(const facts& found) {
    std::vector<advice> all;
    for (const auto judge : {nothing_survives, open_to_everybody, too_few_addresses, too_few_files,
                             too_little_room, copies_on_write, too_little_room_for_checkpoints,
                             too_small_cgroup, too_little_memory, too_little_commit, no_huge_pages})
        if (possible one = judge(found)) all.push_back(std::move(*one));
    return all;
}

void tell(const subject& of) {
    for (const advice& one : advise(facts_of(of)))
        spdlog::log(one.how == severity::warn ? spdlog::level::warn : spdlog::level::info, "{}: {}",
                    of.state.string(), one.text);
}

namespace {

using number = std::optional<std::uint64_t>;
using lines = std::vector<std::string>;

/// Nothing for a file that cannot be read.
lines lines_of(const fs::path& file) {
    std::ifstream from(file);
    lines all;
    for (std::string line; std::getline(from, line);)
        all.push_back(std::move(line));
    return all;
}

std::string first_line(const fs::path& file) {
    const lines all = lines_of(file);
    return all.empty() ? std::string() : all.front();
}

lines words_of(const std::string& line, const char* between = " \t") {
    lines all;
    boost::split(all, line, boost::is_any_of(between), boost::token_compress_on);
    return all;
}

/// The number after `name`, as in /proc/meminfo ("MemFree:  12 kB") and memory.stat ("file 12").
number number_after(const lines& all, std::string_view name) {
    for (const std::string& line : all)
        if (const lines words = words_of(line); words.size() >= 2 && words[0] == name)
            return decimal_in(words[1]);
    return {};
}

/// "always [madvise] never"
std::string word_in_brackets(const std::string& line) {
    const std::size_t begin = line.find('[');
    const std::size_t end = line.find(']');
    if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
    return line.substr(begin + 1, end - begin - 1);
}

/// Spaces in names are written \040.
std::string unescaped(const std::string& name) {
    std::string text;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
        if (name[i] != '\\' || i + 3 >= name.size() ||
            !std::all_of(name.begin() + i + 1, name.begin() + i + 4, is_octal)) {
            text += name[i];
            continue;
        }
        text += static_cast<char>(std::stoi(name.substr(i + 1, 3), nullptr, 8));
        i += 3;
    }
    return text;
}

struct mounted {
    mount at;
    fs::path root; ///< the part of the file system that is mounted
};

/// 25 24 0:23 / /dev/shm rw,relatime shared:4 - tmpfs tmpfs rw,size=24684084k
std::optional<mounted> mounted_in(const std::string& line) {
    const lines words = words_of(line);
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (dash - words.begin() < 6 || words.end() - dash < 4) return {};
    mounted found{{unescaped(words[4]), dash[1]}, unescaped(words[3])};
    for (const std::string& option : words_of(dash[3], ","))
        if (boost::starts_with(option, "huge=")) found.at.huge = option.substr(5);
    return found;
}

std::vector<mounted> mounts(const fs::path& root) {
    std::vector<mounted> all;
    for (const std::string& line : lines_of(root / "proc/self/mountinfo"))
        if (auto one = mounted_in(line)) all.push_back(std::move(*one));
    return all;
}

bool is_within(const fs::path& folder, const fs::path& path) {
    const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
    return end == folder.end() || (std::next(end) == folder.end() && end->empty());
}

/// The innermost mount; of several at one place the last, which hides the others.
mount mount_of(const std::vector<mounted>& all, const fs::path& path) {
    mount found;
    for (const mounted& one : all)
        if (is_within(one.at.point, path) &&
            one.at.point.native().size() >= found.point.native().size())
            found = one.at;
    return found;
}

std::uint64_t bytes_of_file(const fs::path& file) {
    struct stat status{};
    constexpr std::uint64_t block = 512; // the unit of st_blocks, whatever the file system
    if (::stat(file.c_str(), &status) != 0 || status.st_blocks < 0) return 0;
    return static_cast<std::uint64_t>(status.st_blocks) * block;
}

number restored_bytes(const fs::path& checkpoints) {
    try {
        const checkpoint::published all(disk::of_system(), checkpoints);
        if (all.newest()) return all.newest()->segment_bytes();
    } catch (const error&) { // the restore reports it
    }
    return {};
}

void read_files(facts& found) {
    if (!found.of.is_made && fs::is_directory(found.of.segment))
        for (const std::string& name : names_in(found.of.segment)) {
            ++found.segment_files;
            found.segment_bytes += bytes_of_file(found.of.segment / name);
        }
    found.checkpoint_bytes = bytes_of_file(found.of.state / "checkpoint/pages");
    if (found.of.is_made) found.restored_bytes = restored_bytes(found.of.state / "checkpoint");
}

/// Nothing for memory without a limit of its own.
std::optional<struct statvfs> room_at(const fs::path& folder) {
    struct statvfs room{};
    if (::statvfs(folder.c_str(), &room) != 0 || room.f_blocks == 0) return {};
    return room;
}

void read_room(facts& found) {
    if (const auto room = room_at(found.of.segment)) {
        found.free_bytes = std::uint64_t{room->f_bavail} * room->f_frsize;
        found.mount_bytes = std::uint64_t{room->f_blocks} * room->f_frsize;
    }
    if (const auto room = room_at(found.of.state))
        found.free_for_checkpoints = std::uint64_t{room->f_bavail} * room->f_frsize;
}

void read_memory(facts& found, const fs::path& root) {
    constexpr std::uint64_t kibi = 1024;
    const lines all = lines_of(root / "proc/meminfo");
    const number available = number_after(all, "MemAvailable:");
    if (available)
        found.free_memory = (*available + number_after(all, "SwapFree:").value_or(0)) * kibi;
    if (first_line(root / "proc/sys/vm/overcommit_memory") != "2") return;
    const number limit = number_after(all, "CommitLimit:");
    if (limit) found.commit_limit = *limit * kibi;
    found.committed = number_after(all, "Committed_AS:").value_or(0) * kibi;
}

number soft_limit(int resource) {
    rlimit limit{};
    if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) return {};
    if (limit.rlim_cur == RLIM_INFINITY) return {};
    return limit.rlim_cur;
}

void read_limits(facts& found, const fs::path& root) {
    found.address_limit = soft_limit(RLIMIT_AS);
    found.file_limit = soft_limit(RLIMIT_NOFILE);
    const auto pages = words_of(first_line(root / "proc/self/statm"));
    found.addresses =
        decimal_in(pages.front()).value_or(0) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void read_huge_pages(facts& found, const fs::path& root) {
    const fs::path folder = root / "sys/kernel/mm/transparent_hugepage";
    found.shmem_enabled = word_in_brackets(first_line(folder / "shmem_enabled"));
    found.huge_enabled = word_in_brackets(first_line(folder / "enabled"));
    found.can_collapse = ::madvise(nullptr, 0, MADV_COLLAPSE) == 0; // asks for support only
}

void read_folders_above(facts& found, const fs::path& path) {
    for (fs::path folder = path; folder.has_relative_path();) {
        folder = folder.parent_path();
        struct stat status{};
        if (::stat(folder.c_str(), &status) != 0) continue;
        if ((status.st_mode & S_IWOTH) == 0 || (status.st_mode & S_ISVTX) != 0) continue;
        if (std::find(found.open_folders.begin(), found.open_folders.end(), folder) ==
            found.open_folders.end())
            found.open_folders.push_back(folder);
    }
}

} // namespace

facts facts_of(const subject& of, const fs::path& root) {
    facts found;
    found.of = of;
    found.of.state = fs::canonical(of.state);
    found.of.segment = fs::canonical(of.segment);
    const std::vector<mounted> all = mounts(root);
    found.state_mount = mount_of(all, found.of.state);
    found.segment_mount = mount_of(all, found.of.segment);
    read_files(found);
    read_room(found);
    read_memory(found, root);
    read_limits(found, root);
    found.cgroup = resource_limits::least_memory_room(
        root / "proc/self/cgroup", root / "sys/fs/cgroup", root / "proc/meminfo");
    read_huge_pages(found, root);
    read_folders_above(found, found.of.state);
    read_folders_above(found, found.of.segment);
    return found;
}

} // namespace chainbase::doctor
