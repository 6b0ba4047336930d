#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

/// What the operating system allows this process, for who asks before it takes: beyond these limits
/// the kernel does not refuse, it kills. Each call looks anew, since limits change while a process
/// runs. Thread-safe.
namespace chainbase::resource_limits {

/// Whether a file may be `bytes` long (RLIMIT_FSIZE). Whoever makes a longer one gets SIGXFSZ,
/// which ends a process that does not ignore it.
[[nodiscard]] bool allows_file_of(std::uint64_t bytes) noexcept;

/// What the control groups of this process leave of memory.
struct memory_room {
    std::uint64_t bytes;         ///< that can be taken before the kernel kills
    std::uint64_t limit;         ///< of the group with the least room
    std::filesystem::path group; ///< its folder
};

/// The group with the least room, of those the process is in (version 2; `top` is where they are
/// mounted, `own` says which one it is); nothing where none has a limit or none can be read. What
/// the kernel can take back from caches and put into swap counts as room.
///
/// A file in a tmpfs is memory of the group that made it grow, and stays so until it is removed:
/// fallocate beyond `memory.max` is answered by the kernel's OOM killer, not by an error.
[[nodiscard]] std::optional<memory_room>
least_memory_room(const std::filesystem::path& own = "/proc/self/cgroup",
                  const std::filesystem::path& top = "/sys/fs/cgroup");

/// What is kept free of it for all that a process needs besides: its heap, its stacks, the kernel's
/// tables.
[[nodiscard]] std::uint64_t kept_memory(const memory_room& of) noexcept;

/// Why an open file may not take `length` bytes more, to be at least `end` bytes long, and what to
/// do about it; empty when nothing is known to be against it.
[[nodiscard]] std::string refusal(int descriptor, std::uint64_t end, std::uint64_t length);

} // namespace chainbase::resource_limits

namespace chainbase {

/// Throws the limit_error that a mapping of `bytes` failed with, by errno, and says what to do.
[[noreturn]] void throw_no_addresses(std::uint64_t bytes);

} // namespace chainbase
