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

/// The use of each page of one file of a segment.
///
/// Invariants:
///  1. slots.reserved + used + free + never_used = slots that fit in the file.
///  2. header_bytes + bytes_in_use() + bytes_free() + bytes_never_used() = bytes.
///  3. The pages' bytes in use sum to header_bytes + bytes_in_use().
struct window_map {
    static constexpr std::size_t page_bytes = 4096;

    /// The state of a page.
    enum class page {
        header,     ///< the file's first page, or the whole header file
        used,       ///< holds live data
        empty,      ///< used before, now empty
        punched,    ///< empty, and its memory was released
        never_used, ///< space to grow
    };

    /// A group of adjacent pages.
    struct cell {
        std::uint64_t first = 0; ///< page
        std::uint64_t pages = 0;
        std::uint64_t bytes_in_use = 0;
        std::uint64_t empty = 0; ///< pages, like the next two
        std::uint64_t punched = 0;
        std::uint64_t never_used = 0;
    };

    /// Pages that are 0 %, 1-25 %, 26-50 %, 51-75 %, 76-99 % and 100 % full. Excludes the header
    /// page and pages that were never used.
    using histogram = std::array<std::uint64_t, 6>;

    static constexpr std::array<std::string_view, 6> fullness_names{"0 %",     "1-25 %",  "26-50 %",
                                                                    "51-75 %", "76-99 %", "100 %"};

    /// Adjacent empty pages among those that were used.
    struct run {
        std::uint64_t first = 0;
        std::uint64_t pages = 0;
    };

    struct slot_counts {
        std::uint64_t reserved = 0; ///< slot 0, which is never allocated
        std::uint64_t used = 0;
        std::uint64_t free = 0;
        std::uint64_t never_used = 0;
    };

    std::string name; ///< of the file
    std::string type; ///< its type; empty: none
    std::string kind; ///< "header", "undo_log", "buffers", "runs", "objects", "ids" or "hash"
    std::uint64_t bytes = 0;        ///< its length
    std::uint64_t slot_bytes = 0;   ///< of a slot or an entry; 0 without slots
    std::uint64_t header_bytes = 0; ///< header page and, for objects, the container's own slot
    std::uint64_t end = 0;          ///< bytes from here on were never used
    slot_counts slots;
    std::vector<std::uint16_t> in_use; ///< bytes per page
    std::vector<bool> is_hole;         ///< by page: not allocated by the file system

    /// Marks bytes [offset, offset + length) as in use; they must not be marked yet. Ignores bytes
    /// beyond the file.
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
    /// The pages in order, in at most `most` groups of nearly equal size.
    [[nodiscard]] std::vector<cell> cells(std::size_t most) const;
    /// Whether it never held anything.
    [[nodiscard]] bool is_untouched() const noexcept { return slots.used + slots.free == 0; }
    /// Whether it is a buffer class that was never used: most states use few of them.
    [[nodiscard]] bool is_unused_class() const noexcept {
        return (kind == "buffers" || kind == "runs") && is_untouched();
    }
};

/// The use of every page of a segment.
///
/// Invariant: the files of `windows` and `other_files` are all bytes of the segment's folder.
struct segment_map {
    std::filesystem::path state;
    std::filesystem::path segment; ///< the folder of its files
    inspect::condition condition = condition::closed;
    /// Nothing changed during the read, and the pages found agree with the counters.
    bool consistent = false;
    std::vector<std::string> discrepancies; ///< disagreements, as text
    /// The header, the log, the types' files by type, the buffers' by size.
    std::vector<window_map> windows;
    std::uint64_t other_files = 0; ///< bytes of unmapped files in the folder

    [[nodiscard]] std::uint64_t bytes() const noexcept;        ///< of `windows`
    [[nodiscard]] std::uint64_t bytes_in_use() const noexcept; ///< of these, without headers
};

/// Reads the segment of the state in the folder `state`: takes no lock, changes nothing. Reads the
/// structures that tell which slots are live (ids, free lists, tables), but no objects; the time
/// grows with their number. Beside a writer it reads again, for about a second, until nothing
/// changed meanwhile; `consistent` says whether that succeeded.
///
/// Throws what opening a segment read-only throws; a state whose writer died is no error.
[[nodiscard]] segment_map read_segment_map(const std::filesystem::path& state);

/// The map for a terminal of `columns` columns, and tables.
[[nodiscard]] std::string as_text(const segment_map& found, std::size_t columns);

/// The report as one JSON object; json.md lists its members.
[[nodiscard]] std::string as_json(const segment_map& found);

/// The map as a self-contained SVG document in the viewer's preferred colours.
[[nodiscard]] std::string as_svg(const segment_map& found);

} // namespace chainbase::inspect
