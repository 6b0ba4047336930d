#include <chainbase/doctor.hpp>
#include <pool_allocator/quoted.hpp>
#include <pool_allocator/window.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>

namespace chainbase::doctor {

namespace {

using possible = std::optional<advice>;

constexpr std::uint64_t mebi = std::uint64_t{1} << 20;
constexpr std::uint64_t gibi = std::uint64_t{1} << 30;

/// What a state that is young or small may grow by before its operator looks again.
constexpr std::uint64_t least_growth = 256 * mebi;
/// The buffers', the log, and some types.
constexpr std::uint64_t young_files = 48;
/// The archive's budget of files, and what a node opens besides: logs, checkpoints, peers.
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

/// What a segment has, or will have when it was restored.
std::uint64_t state_bytes(const facts& found) {
    return found.of.is_made ? found.checkpoint_bytes : found.segment_bytes;
}

std::uint64_t growth(const facts& found) {
    return std::max(state_bytes(found) / 4, least_growth);
}

/// What opening and a while of growing take from the file system.
std::uint64_t wanted(const facts& found) {
    return (found.of.is_made ? state_bytes(found) : 0) + growth(found);
}

/// What checkpoints take besides: both together have up to three times the state.
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
                  fmt::format("the state folder is on {} at {}, checkpoints and all: nothing of it "
                              "survives a restart of the machine; move it to a disk, and have the "
                              "segment alone in memory: --memory-folder {} "
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
        fmt::format("RLIMIT_AS leaves {} of addresses, but {} windows reserve {}, without memory "
                    "behind them, so opening fails: ulimit -v unlimited (or {}); a program that "
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
                              "archive up to {} and a node {} more, so that opening one fails in "
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

/// Where the segment is in memory; else both are on one disk, or nobody said so.
possible too_little_room_for_checkpoints(const facts& found) {
    if (!found.of.makes_checkpoints || !found.free_for_checkpoints) return {};
    if (!found.segment_mount.is_memory() || found.state_mount.is_memory()) return {};
    const std::uint64_t needed = wanted_for_checkpoints(found);
    if (*found.free_for_checkpoints >= needed) return {};
    return advice{severity::warn,
                  fmt::format("{} ({}) has {} left, the checkpoints of {} want {} (they take up to "
                              "three times the state); when it is full none is made, and a "
                              "restart goes back to the last one: {}",
                              found.state_mount.point.string(), found.state_mount.type,
                              in_words(*found.free_for_checkpoints), size_in_words(found),
                              in_words(needed), cure_of_full_disk(found.state_mount))};
}

possible too_small_cgroup(const facts& found) {
    if (!found.cgroup) return {};
    const auto& [room, limit, group] = *found.cgroup;
    // What is in memory and was made in this cgroup is part of what it uses.
    const bool fits = limit >= state_bytes(found) + least_growth;
    if (fits && room >= (found.of.is_made ? wanted(found) : least_growth)) return {};
    const std::string cost =
        found.segment_mount.is_memory()
            ? "the kernel kills who goes beyond it, whatever the file system has left"
            : "pages of the segment are read from its disk again and again";
    const std::uint64_t enough =
        std::max(left(limit, room), found.of.is_made ? 0 : state_bytes(found)) + wanted(found);
    const std::filesystem::path file = group / "memory.max";
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
                  fmt::format("the machine has {} of memory and swap left, {}; what {} allows does "
                              "not count then, the kernel kills for memory: stop something (ps "
                              "aux --sort=-rss), or open the state without --memory-folder, on "
                              "its disk",
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
                              "are left, {}; operations fail when none is: sysctl "
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

std::vector<advice> advise(const facts& found) {
    std::vector<advice> all;
    for (const auto judge : {nothing_survives, open_to_everybody, too_few_addresses, too_few_files,
                             too_little_room, too_little_room_for_checkpoints, too_small_cgroup,
                             too_little_memory, too_little_commit, no_huge_pages})
        if (possible one = judge(found)) all.push_back(std::move(*one));
    return all;
}

void tell(const subject& of) {
    for (const advice& one : advise(facts_of(of)))
        spdlog::log(one.how == severity::warn ? spdlog::level::warn : spdlog::level::info, "{}: {}",
                    of.state.string(), one.text);
}

} // namespace chainbase::doctor
