#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
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

    /// Neighbouring pages in which nothing lies, among those that were used.
    struct run {
        std::uint64_t first = 0;
        std::uint64_t pages = 0;
    };

    std::string name; ///< of the file
    std::string type; ///< whose it is; empty: no type's
    std::string kind; ///< "header", "undo_log", "buffers", "runs", "objects", "ids" or "hash"
    std::uint64_t bytes = 0;        ///< its length
    std::uint64_t slot_bytes = 0;   ///< of a slot or an entry; 0 if there are none
    std::uint64_t header_bytes = 0; ///< header page and, of objects, the container's own slot
    std::uint64_t end = 0;          ///< bytes at or above were never used
    struct {
        std::uint64_t reserved = 0; ///< slot 0, which holds no object and no buffer
        std::uint64_t used = 0;
        std::uint64_t free = 0;
        std::uint64_t never_used = 0;
    } slots;
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
    /// Whether it is a class of buffers that nobody needs: most states use few of them.
    [[nodiscard]] bool is_unused_class() const noexcept {
        return (kind == "buffers" || kind == "runs") && is_untouched();
    }
};

} // namespace chainbase::inspect
