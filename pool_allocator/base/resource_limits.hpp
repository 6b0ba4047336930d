#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

/// The operating system's limits for this process, to check before taking memory or space: beyond
/// these limits the kernel does not refuse, it kills. Each call reads them again, since limits
/// change while a process runs. Thread-safe.
namespace chainbase::resource_limits {

/// Whether a file may be `bytes` long (RLIMIT_FSIZE). Making a longer one raises SIGXFSZ, which
/// ends a process that does not ignore it.
[[nodiscard]] bool allows_file_of(std::uint64_t bytes) noexcept;

/// The memory that the control groups of this process still allow.
struct memory_room {
    std::uint64_t bytes;        ///< available before the kernel kills
    std::uint64_t limit;        ///< of the group with the least room
    std::filesystem::path file; ///< of that limit
};

/// The group with the least room among the process's control groups (version 2, or 1 below
/// `top`/memory; `top` is their mount point, `own` names the process's groups, `machine` the
/// machine's free swap); nothing where none has a limit or none can be read. Memory that the kernel
/// can reclaim from caches or, as far as the group may, swap out counts as room.
///
/// A file in a tmpfs is memory of the group that made it grow, and stays so until it is removed:
/// fallocate beyond the limit is answered by the kernel's OOM killer, not by an error.
[[nodiscard]] std::optional<memory_room>
least_memory_room(const std::filesystem::path& own = "/proc/self/cgroup",
                  const std::filesystem::path& top = "/sys/fs/cgroup",
                  const std::filesystem::path& machine = "/proc/meminfo");

/// The part of that room to keep free for the process's other needs: heap, stacks, the kernel's
/// tables.
[[nodiscard]] std::uint64_t kept_memory(const memory_room& of) noexcept;

/// The machine's available memory without swapping, read from `from`; nothing where it is not
/// stated.
[[nodiscard]] std::optional<std::uint64_t>
available_memory(const std::filesystem::path& from = "/proc/meminfo");

/// Why an open file cannot take `length` more bytes and grow to `end` bytes, and what to do about
/// it; empty when no limit is known to prevent it.
[[nodiscard]] std::string refusal(int descriptor, std::uint64_t end, std::uint64_t length);

} // namespace chainbase::resource_limits

namespace chainbase {

/// Throws limit_error for a failed mapping of `bytes` (errno), saying what to do.
[[noreturn]] void throw_no_addresses(std::uint64_t bytes);

} // namespace chainbase
