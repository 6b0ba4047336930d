#include <pool_allocator/base/decimal.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/page_cache.hpp>
#include <pool_allocator/base/resource_limits.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

namespace chainbase::resource_limits {

namespace fs = std::filesystem;

namespace {

/// Nothing for a missing file and for "max".
std::optional<std::uint64_t> number_in(const fs::path& file) {
    std::ifstream in(file);
    std::string text;
    if (!(in >> text)) return std::nullopt;
    return decimal_in(text);
}

/// The files of a limit of a group.
struct bound {
    const char* limit;
    const char* used;
    bool has_swap; ///< memory that was swapped out counts, too
};

/// A version of control groups.
struct version {
    std::string_view controller; ///< that its line in /proc/self/cgroup names; empty: it names none
    std::span<const bound> bounds;
};
constexpr bound of_second[] = {{"memory.max", "memory.current", false}};
constexpr bound of_first[] = {
    {"memory.limit_in_bytes", "memory.usage_in_bytes", false},
    {"memory.memsw.limit_in_bytes", "memory.memsw.usage_in_bytes", true},
};
constexpr version versions[] = {{"", of_second}, {"memory", of_first}};

/// Whether `list` ("cpu,memory") names the controller.
bool names(std::string_view list, std::string_view controller) {
    for (;;) {
        const std::size_t end = list.find(',');
        if (list.substr(0, end) == controller) return true;
        if (end == std::string_view::npos) return false;
        list.remove_prefix(end + 1);
    }
}

/// The group of a process.
struct own_group {
    fs::path mount; ///< below the mount point of the groups; empty: that itself
    fs::path path;  ///< relative to it
};

/// Reads the lines "4:cpu,memory:/path", and of version 2 "0::/path". A path that leaves the mount
/// point is in another namespace, whose limits cannot be read.
std::optional<own_group> own_group_in(const version& of, const fs::path& own, const fs::path& top) {
    std::ifstream in(own);
    for (std::string line; std::getline(in, line);) {
        const std::size_t list = line.find(':') + 1; // 0 without one
        const std::size_t path = list == 0 ? list : line.find(":/", list);
        if (list == 0 || path == std::string::npos) continue;
        const std::string controllers = line.substr(list, path - list);
        if (!names(controllers, of.controller)) continue;
        own_group found{of.controller, line.substr(path + 2)};
        if (found.path.native().starts_with("..")) continue;
        if (!fs::exists(top / found.mount)) found.mount = controllers; // without a link for each
        return found;
    }
    return std::nullopt;
}

/// The memory that the kernel reclaims when a group reaches its limit; not files of a tmpfs.
std::uint64_t reclaimable(const fs::path& group) {
    std::ifstream in(group / "memory.stat");
    std::uint64_t sum = 0;
    std::uint64_t value = 0;
    for (std::string name; in >> name >> value;)
        if (name == "active_file" || name == "inactive_file" || name == "slab_reclaimable")
            sum += value;
    return sum;
}

std::uint64_t above(std::uint64_t limit, std::uint64_t used) noexcept {
    return limit > used ? limit - used : 0;
}

/// A line of /proc/meminfo, in bytes.
std::optional<std::uint64_t> bytes_called(const char* wanted, const fs::path& machine) {
    std::ifstream in(machine);
    for (std::string name; in >> name; in.ignore(1000, '\n'))
        if (std::uint64_t kibibytes = 0; name == wanted && in >> kibibytes) return kibibytes << 10;
    return std::nullopt;
}

std::uint64_t free_swap(const fs::path& machine = "/proc/meminfo") {
    return bytes_called("SwapFree:", machine).value_or(0);
}

std::uint64_t swap_room(const fs::path& group, const fs::path& machine) {
    const std::uint64_t free = free_swap(machine);
    if (free == 0) return 0;
    const auto limit = number_in(group / "memory.swap.max");
    if (!limit) return free;
    return std::min(free, above(*limit, number_in(group / "memory.swap.current").value_or(0)));
}

std::optional<memory_room> room_in(const bound& of, const fs::path& group,
                                   const fs::path& machine) {
    constexpr std::uint64_t unlimited = std::uint64_t{1} << 62; // as the first version says it
    const auto limit = number_in(group / of.limit);
    if (!limit || *limit >= unlimited) return std::nullopt;
    const auto used = number_in(group / of.used);
    if (!used) return std::nullopt;
    const std::uint64_t left = above(*limit, above(*used, reclaimable(group)));
    return memory_room{left + (of.has_swap ? 0 : swap_room(group, machine)), *limit,
                       group / of.limit};
}

} // namespace

bool allows_file_of(std::uint64_t bytes) noexcept {
    rlimit limit{};
    return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           bytes <= limit.rlim_cur;
}

std::optional<memory_room> least_memory_room(const fs::path& own, const fs::path& top,
                                             const fs::path& machine) {
    std::optional<memory_room> least;
    for (const version& of : versions) {
        const std::optional<own_group> group = own_group_in(of, own, top);
        if (!group) continue;
        fs::path at = top / group->mount;
        const auto look = [&] {
            for (const bound& one : of.bounds) {
                const auto found = room_in(one, at, machine);
                if (found && (!least || found->bytes < least->bytes)) least = found;
            }
        };
        look();
        for (const fs::path& name : group->path) {
            at /= name;
            look();
        }
    }
    return least;
}

std::optional<std::uint64_t> available_memory(const fs::path& from) {
    return bytes_called("MemAvailable:", from);
}

std::uint64_t kept_memory(const memory_room& of) noexcept {
    constexpr std::uint64_t mebi = 1 << 20;
    return std::clamp(of.limit / 32, mebi, 32 * mebi);
}

std::string refusal(int descriptor, std::uint64_t end, std::uint64_t length) {
    if (!allows_file_of(end)) return std::string(std::strerror(EFBIG)) + "; raise `ulimit -f`";
    if (!is_memory(descriptor)) return {}; // pages of other files can be written back
    if (const auto free = available_memory()) {
        const std::uint64_t room = *free + free_swap();
        if (room < length + kept_memory({room, room, {}}))
            return "the machine has " + std::to_string(room) +
                   " bytes of memory left; free some, or keep the state on a disk";
    }
    const auto room = least_memory_room();
    if (!room || room->bytes >= length + kept_memory(*room)) return {};
    return "the control group has " + std::to_string(room->bytes) + " bytes left of " +
           room->file.string() + ", " + std::to_string(room->limit) +
           "; raise that, or keep the state on a disk";
}

} // namespace chainbase::resource_limits

namespace chainbase {

void throw_no_addresses(std::uint64_t bytes) {
    throw limit_error("cannot reserve " + std::to_string(bytes) + " bytes of addresses (" +
                      std::strerror(errno) +
                      "): raise `ulimit -v`; a program that makes a new state may also ask for "
                      "smaller or fewer windows (open_options)");
}

} // namespace chainbase
