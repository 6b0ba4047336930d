#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace chainbase::inspect {

/// A process's resident memory of mapped files, in bytes.
struct mapped_pages {
    std::uint64_t mappings = 0;
    std::uint64_t resident = 0;
    std::uint64_t shmem_pmd_mapped = 0; ///< tmpfs, in huge pages
    std::uint64_t file_pmd_mapped = 0;  ///< other files, in huge pages
    std::uint64_t anon_huge_pages = 0;  ///< private huge pages

    [[nodiscard]] std::uint64_t huge() const noexcept {
        return shmem_pmd_mapped + file_pmd_mapped + anon_huge_pages;
    }
};

/// The pages of files in `folder`, as /proc reports them for the process; empty when this user may
/// not read that, or the process maps none of them: its pid may belong to another container. `root`
/// is prepended to the kernel's file names.
[[nodiscard]] std::optional<mapped_pages> pages_mapped_by(pid_t process,
                                                          const std::filesystem::path& folder,
                                                          const std::filesystem::path& root = "/");

} // namespace chainbase::inspect
