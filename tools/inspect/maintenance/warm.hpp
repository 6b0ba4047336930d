#pragma once

#include <pool_allocator/base/file_descriptor.hpp>
#include <pool_allocator/base/page_cache.hpp>
#include <tools/exit_code.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// A file mapped read-only, to ask the kernel which pages are in memory and to fetch the rest: from
/// the page cache's disk, or, for tmpfs, from swap. Reads no byte through the mapping, so a writer
/// may truncate the file meanwhile. Not thread-safe.
///
/// Fetches only data: reading a hole of a tmpfs file through a mapping would allocate memory for
/// it. If a writer punches a hole between the search for holes and the fetch of the slice, zeros
/// may be allocated again; the content is the same.
class resident_file {
public:
    using extent = file_part;
    /// Fetched by one call.
    static constexpr std::uint64_t slice_bytes = std::uint64_t{8} << 20;

    /// Maps the current length of the file, but at most this. Throws access_error when this user
    /// may not read it, io_error.
    explicit resident_file(const std::filesystem::path& file, std::uint64_t most = UINT64_MAX);
    ~resident_file();
    resident_file(const resident_file&) = delete;
    resident_file& operator=(const resident_file&) = delete;

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    /// The extents that are not holes. Throws io_error.
    [[nodiscard]] std::vector<extent> data() const;
    /// What of the file is in memory, as cached_part_of().
    [[nodiscard]] cached_bytes cached() const { return cached({0, bytes_}); }
    /// What of an extent is.
    [[nodiscard]] cached_bytes cached(extent part) const;

    /// Fetches an extent of at most a slice and waits until it is resident; skips what was
    /// truncated meanwhile. Throws io_error.
    void fetch(extent part);
    /// Starts readahead of the extent.
    void announce(extent part) noexcept;

    /// @name Huge pages
    /// @{

    /// The size of a huge page; 0 when the kernel has none of that kind.
    [[nodiscard]] static std::uint64_t huge_page_bytes();
    /// Whole aligned huge pages within data().
    [[nodiscard]] std::vector<extent> huge_candidates() const;
    /// Requests huge pages for later fetches, as far as file system and kernel support them.
    void advise_huge() noexcept;
    /// Merges small pages into a huge page. Returns 0 or an errno.
    [[nodiscard]] int collapse(extent huge_page) noexcept;
    /// Bytes of this file mapped by huge pages in this process: of the fetched ones, all that lie
    /// in one. Requires that this process maps no other file of the folder.
    [[nodiscard]] std::uint64_t huge() const;
    /// @}

private:
    void read_slowly(extent part);
    [[nodiscard]] std::byte* at(extent part) const noexcept { return base_ + part.begin; }

    std::filesystem::path file_;
    file_descriptor descriptor_;
    std::uint64_t bytes_ = 0;
    std::byte* reserved_ = nullptr; ///< the unmapped address range
    std::uint64_t reserved_bytes_ = 0;
    std::byte* base_ = nullptr; ///< aligned to a huge page; null for an empty file
};

/// Options of warming the files of a segment.
struct warming_options {
    bool is_dry_run = false; ///< report only
    bool huge_pages = false; ///< merge resident data into huge pages
};

/// A file of a segment, before and after warming.
struct warmed_file {
    std::string name;
    std::uint64_t bytes = 0;
    std::uint64_t data_bytes = 0; ///< bytes outside of holes
    /// Resident bytes; nothing where the kernel does not tell this user.
    std::optional<std::uint64_t> resident_before;
    std::optional<std::uint64_t> resident_after; ///< also nothing in a dry run
    /// Of the resident bytes, at the end, those to be written to the disk; nothing as above.
    std::optional<std::uint64_t> dirty;
    std::uint64_t to_fetch = 0; ///< data bytes that were not resident; all of them if unknown
    /// In huge pages; nothing unless requested and fetched.
    std::optional<std::uint64_t> huge;
    std::uint64_t huge_candidates = 0; ///< bytes of whole huge pages without a hole
    std::string why_not_huge;          ///< why some candidates are not huge; empty if all are
};

/// The result of warming a segment.
struct warming_report {
    std::filesystem::path state;
    std::filesystem::path segment; ///< the folder of its files
    std::string file_system;       ///< its file system: "tmpfs", "ext4" ...
    std::uint64_t huge_page_bytes = 0;
    warming_options how;
    double seconds = 0;
    std::vector<warmed_file> files; ///< by name
    bool is_interrupted = false;    ///< by a signal: files are missing or incomplete

    /// The sums over all files; a sum with an unknown figure is unknown.
    [[nodiscard]] warmed_file total() const;
};

/// Called with the bytes fetched so far, and in total.
using warming_progress = std::function<void(std::uint64_t done, std::uint64_t all)>;

/// Loads a segment's data into memory: into the page cache, or, for tmpfs, back from swap. Changes
/// no content and takes no lock, so it works beside a writer; files that grow meanwhile are fetched
/// up to their old length.
///
/// Throws as segment_folder() and resident_file. Stops early at a signal (catch_interruption).
[[nodiscard]] warming_report warm_segment(const std::filesystem::path& state,
                                          const warming_options& how,
                                          const warming_progress& progress);

/// The report as a text table, and as one JSON object; README.md lists its members.
[[nodiscard]] std::string as_text(const warming_report& found);
[[nodiscard]] std::string as_json(const warming_report& found);

} // namespace chainbase::inspect
