#pragma once

#include <tools/inspect/memory/state_report.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::inspect {

/// How full each page of one file of a segment is.
///
/// Invariants:
///  1. slots.reserved + used + free + never_used = slots that the file has room for.
///  2. header_bytes + bytes_in_use() + bytes_free() + bytes_never_used() = bytes.
///  3. The pages' bytes in use sum to header_bytes + bytes_in_use().
struct window_map {
    static constexpr std::size_t page_bytes = 4096;

    /// What a page is.
    enum class page {
        header,     ///< the file's first page, or all of the segment's header
        used,       ///< something live lies in it
        empty,      ///< was used, and nothing lies in it now
        punched,    ///< the same, and its memory was given back
        never_used, ///< room to grow into
    };

    /// A group of neighbouring pages.
    struct cell {
        std::uint64_t first = 0; ///< page
        std::uint64_t pages = 0;
        std::uint64_t bytes_in_use = 0;
        std::uint64_t empty = 0; ///< pages, and so are the next two
        std::uint64_t punched = 0;
        std::uint64_t never_used = 0;
    };

    /// Pages that are 0 %, 1-25 %, 26-50 %, 51-75 %, 76-99 % and 100 % full. The header page and
    /// pages that were never used are not counted.
    using histogram = std::array<std::uint64_t, 6>;

    static constexpr std::array<std::string_view, 6> fullness_names{"0 %",     "1-25 %",  "26-50 %",
                                                                    "51-75 %", "76-99 %", "100 %"};

    /// Neighbouring pages in which nothing lies, among those that were used.
    struct run {
        std::uint64_t first = 0;
        std::uint64_t pages = 0;
    };

    struct slot_counts {
        std::uint64_t reserved = 0; ///< slot 0, which holds no object and no buffer
        std::uint64_t used = 0;
        std::uint64_t free = 0;
        std::uint64_t never_used = 0;
    };

    std::string name; ///< of the file
    std::string type; ///< whose it is; empty: no type's
    std::string kind; ///< "header", "undo_log", "buffers", "runs", "objects", "ids" or "hash"
    std::uint64_t bytes = 0;        ///< its length
    std::uint64_t slot_bytes = 0;   ///< of a slot or an entry; 0 if there are none
    std::uint64_t header_bytes = 0; ///< header page and, of objects, the container's own slot
    std::uint64_t end = 0;          ///< bytes at or above were never used
    slot_counts slots;
    std::vector<std::uint16_t> in_use; ///< bytes, by page
    std::vector<bool> is_hole;         ///< by page: the file system holds nothing of it

    /// Counts bytes [offset, offset + length), which were not counted yet, as in use; what lies
    /// beyond the file is left out.
    void fill(std::uint64_t offset, std::uint64_t length);

    [[nodiscard]] page at(std::size_t number) const noexcept;
    [[nodiscard]] std::uint64_t bytes_in_use() const noexcept;
    [[nodiscard]] std::uint64_t bytes_free() const noexcept {
        return end - header_bytes - bytes_in_use();
    }
    [[nodiscard]] std::uint64_t bytes_never_used() const noexcept { return bytes - end; }
    [[nodiscard]] std::uint64_t count(page what) const noexcept;
    [[nodiscard]] histogram fullness() const noexcept;
    [[nodiscard]] run longest_free_run() const noexcept;
    /// The pages in order, in at most `most` groups as equal as they can be.
    [[nodiscard]] std::vector<cell> cells(std::size_t most) const;
    /// Whether it holds nothing and never did.
    [[nodiscard]] bool is_untouched() const noexcept { return slots.used + slots.free == 0; }
    /// Whether it is a class of buffers that was never used: most states use few of them.
    [[nodiscard]] bool is_unused_class() const noexcept {
        return (kind == "buffers" || kind == "runs") && is_untouched();
    }
};

/// How full every page of a segment is.
///
/// Invariant: the files of `windows` and `other_files` are all bytes of the segment's folder.
struct segment_map {
    std::filesystem::path state;
    std::filesystem::path segment; ///< the folder of its files
    inspect::condition condition = condition::closed;
    /// Nothing changed while it was read, and what was found agrees with what is counted.
    bool consistent = false;
    std::vector<std::string> discrepancies; ///< what does not agree, in words
    /// The header, the log, the types' by type, the buffers' by size.
    std::vector<window_map> windows;
    std::uint64_t other_files = 0; ///< bytes of files in the folder that are not mapped

    [[nodiscard]] std::uint64_t bytes() const noexcept;        ///< of `windows`
    [[nodiscard]] std::uint64_t bytes_in_use() const noexcept; ///< of them, without headers
};

/// Looks at the segment of the state in the folder `state`: takes no lock, changes nothing. Reads
/// what says which slots are live (ids, free lists, tables), but no object; so it takes the longer,
/// the more there are, and beside a writer it reads again, for about a second, until nothing
/// changed meanwhile; `consistent` says whether that succeeded.
///
/// Throws what opening a segment read-only throws; a state whose writer died is no error.
[[nodiscard]] segment_map read_segment_map(const std::filesystem::path& state);

/// The picture for a terminal of `columns` columns, and tables.
[[nodiscard]] std::string as_text(const segment_map& found, std::size_t columns);

/// The report as one JSON object; README.md lists its members.
[[nodiscard]] std::string as_json(const segment_map& found);

/// The picture as a document that needs no other file, in the colours that its viewer prefers.
[[nodiscard]] std::string as_svg(const segment_map& found);

} // namespace chainbase::inspect
