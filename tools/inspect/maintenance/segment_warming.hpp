#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// What is to be done to the files of a segment.
struct warming_options {
    bool is_dry_run = false; ///< look only
    bool huge_pages = false; ///< make huge pages of what is in memory
};

/// A file of a segment, before and after.
struct warmed_file {
    std::string name;
    std::uint64_t bytes = 0;
    std::uint64_t data_bytes = 0; ///< of them no hole
    /// In memory; nothing where the kernel does not tell this user.
    std::optional<std::uint64_t> resident_before;
    std::optional<std::uint64_t> resident_after; ///< nothing of a dry run, too
    std::uint64_t to_fetch = 0; ///< of the data not in memory before; all of it if not told
    /// In huge pages; nothing unless it was fetched and they were asked for.
    std::optional<std::uint64_t> huge;
    std::uint64_t huge_candidates = 0; ///< bytes of whole huge pages without a hole
    std::string why_not_huge;          ///< of candidates that are not; empty if all are
};

/// What came of it.
struct warming_report {
    std::filesystem::path state;
    std::filesystem::path segment; ///< the folder of its files
    std::string file_system;       ///< that it is on: "tmpfs", "ext4" ...
    std::uint64_t huge_page_bytes = 0;
    warming_options how;
    double seconds = 0;
    std::vector<warmed_file> files; ///< by name
    bool is_interrupted = false;    ///< by a signal: files are missing, or not whole

    /// The sums of all files; what is unknown of one is unknown of all.
    [[nodiscard]] warmed_file total() const;
};

/// Is told how many bytes of how many were fetched.
using warming_progress = std::function<void(std::uint64_t done, std::uint64_t all)>;

/// Brings what the segment of a state holds into memory: into the page cache, or, of tmpfs, back
/// from swap. No content is changed and no lock taken, so it works beside a writer; files that grow
/// meanwhile are fetched as long as they were.
///
/// Throws what segment_folder() and resident_file throw. Ends early at a signal
/// (catch_interruption).
[[nodiscard]] warming_report warm_segment(const std::filesystem::path& state,
                                          const warming_options& how,
                                          const warming_progress& progress);

} // namespace chainbase::inspect
