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
    std::uint64_t shmem_pmd_mapped = 0; ///< in huge pages, of tmpfs
    std::uint64_t file_pmd_mapped = 0;  ///< of other files
    std::uint64_t anon_huge_pages = 0;  ///< private ones

    [[nodiscard]] std::uint64_t huge() const noexcept {
        return shmem_pmd_mapped + file_pmd_mapped + anon_huge_pages;
    }
};

/// Of the files in `folder`, as /proc says of the process; empty when this user may not read that,
/// or when the process has none of them: its number may be one of another container. `root` stands
/// before the names of the kernel's files.
[[nodiscard]] std::optional<mapped_pages> pages_mapped_by(pid_t process,
                                                          const std::filesystem::path& folder,
                                                          const std::filesystem::path& root = "/");

} // namespace chainbase::inspect
