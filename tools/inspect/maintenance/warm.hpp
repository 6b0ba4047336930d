#pragma once

#include <pool_allocator/file_descriptor.hpp>
#include <tools/exit_code.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// A file, mapped for reading only, of which the kernel is asked what is in memory, and to fetch
/// the rest: of the page cache, or of tmpfs what was swapped out. It reads no byte through the
/// mapping, so a writer that cuts the file meanwhile is no danger. Not thread-safe.
///
/// Only what the file holds is fetched: reading a hole of a file of tmpfs through a mapping would
/// take memory for it. What a writer punches between a look for holes and the fetching of the same
/// slice may be filled with zeros again; it reads the same.
class resident_file {
public:
    /// Part of a file.
    struct extent {
        std::uint64_t begin = 0;
        std::uint64_t bytes = 0;
    };
    /// What is fetched with one call.
    static constexpr std::uint64_t slice_bytes = std::uint64_t{8} << 20;

    /// As long as the file is now, but at most this long. Throws access_error for what this user
    /// may not read, io_error.
    explicit resident_file(const std::filesystem::path& file, std::uint64_t most = UINT64_MAX);
    ~resident_file();
    resident_file(const resident_file&) = delete;
    resident_file& operator=(const resident_file&) = delete;

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    /// What is no hole. Throws io_error.
    [[nodiscard]] std::vector<extent> data() const;
    /// Bytes of the file that are in memory; nothing when the kernel does not tell this user, who
    /// neither owns the file nor may write it. Throws io_error.
    [[nodiscard]] std::optional<std::uint64_t> resident() const;
    /// The same of a part.
    [[nodiscard]] std::optional<std::uint64_t> resident(extent part) const;

    /// Brings a part of at most a slice into memory, and waits until it is there; what was cut off
    /// meanwhile is left out. Throws io_error.
    void fetch(extent part);
    /// Tells the kernel that it will be asked for this part soon.
    void announce(extent part) noexcept;

    /// @name Huge pages
    /// @{

    /// How large they are here; 0 when the kernel has none of that kind.
    [[nodiscard]] static std::uint64_t huge_page_bytes();
    /// Whole aligned huge pages within data().
    [[nodiscard]] std::vector<extent> huge_candidates() const;
    /// Wants them for what is fetched from now on, as far as file system and kernel do that.
    void advise_huge() noexcept;
    /// Makes one of what lies in small pages. Returns 0, or why not, as errno.
    [[nodiscard]] int collapse(extent huge_page) noexcept;
    /// Bytes of this file that huge pages map here: of those fetched, all that lie in one. Requires
    /// that this process has no other file of the folder mapped.
    [[nodiscard]] std::uint64_t huge() const;
    /// @}

private:
    void read_slowly(extent part);
    [[nodiscard]] std::byte* at(extent part) const noexcept { return base_ + part.begin; }
    [[nodiscard]] bool may_be_told() const;

    std::filesystem::path file_;
    file_descriptor descriptor_;
    std::uint64_t bytes_ = 0;
    std::byte* reserved_ = nullptr; ///< what is unmapped at the end
    std::uint64_t reserved_bytes_ = 0;
    std::byte* base_ = nullptr; ///< aligned to a huge page; null of an empty file
};

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

/// The report as a table for people, and as one JSON object; README.md lists its members.
[[nodiscard]] std::string as_text(const warming_report& found);
[[nodiscard]] std::string as_json(const warming_report& found);

} // namespace chainbase::inspect
