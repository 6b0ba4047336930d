#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace chainbase {

/// What a process had to do with disks since it began, as /proc tells it. Figures that this user
/// may not read are nothing: the first two are for the process's owner.
struct process_disk {
    pid_t process = 0;
    std::uint64_t started = 0;                  ///< tells processes of the same number apart
    std::optional<std::uint64_t> read_bytes;    ///< also for pages of mapped files
    std::optional<std::uint64_t> written_bytes; ///< a page counts when it becomes dirty
    std::optional<std::uint64_t> major_faults;  ///< accesses to pages that were not in memory

    /// Nothing without such a process. `root` is prefixed to the kernel's file names.
    [[nodiscard]] static std::optional<process_disk> of(pid_t process,
                                                        const std::filesystem::path& root = "/");
};

/// Whether a process has this file open, as far as this user may know it: so a number is the
/// process that is meant, not one of another container. `root` as above.
[[nodiscard]] bool has_open(pid_t process, const std::filesystem::path& file,
                            const std::filesystem::path& root = "/");

} // namespace chainbase
