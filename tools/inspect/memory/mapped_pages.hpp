#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace chainbase::inspect {

/// What a process has in memory of files that it mapped. Bytes.
struct mapped_pages {
    std::uint64_t mappings = 0;
    std::uint64_t resident = 0;
    std::uint64_t huge_of_memory = 0; ///< ShmemPmdMapped: tmpfs
    std::uint64_t huge_of_files = 0;  ///< FilePmdMapped
    std::uint64_t huge_private = 0;   ///< AnonHugePages

    [[nodiscard]] std::uint64_t huge() const noexcept {
        return huge_of_memory + huge_of_files + huge_private;
    }
};

/// Of the files in `folder`, as /proc says of the process; empty when who asks may not read that,
/// or when the process has none of them: its number may be one of another container. `root` stands
/// before the names of the kernel's files.
[[nodiscard]] std::optional<mapped_pages> pages_mapped_by(pid_t process,
                                                          const std::filesystem::path& folder,
                                                          const std::filesystem::path& root = "/");

} // namespace chainbase::inspect
