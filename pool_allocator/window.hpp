#pragma once

#include <pool_allocator/address_space.hpp>
#include <pool_allocator/base/file_descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace chainbase {

/// The kind of content of a window; stored in its header.
enum class window_kind : std::uint32_t {
    undo_log = 1,
    objects,
    ids,
    hashed_key,
    buffers,
    runs,
    btree
};

/// The first bytes of every window, written once when it is created. Sixty-four bytes:
///
///     0  magic           8   "chainwin"
///     8  format          4   version of the file format
///    12  kind            4   window_kind
///    16  slot_bytes      4   size of one slot (objects, buffers, chunks) or entry (tables)
///    20  first_slot      4   offset of slot 0 from the window's begin
///    24  index           4   place in the address space, in windows
///    28  reserved        4   zero
///    32  name           24   what the file is called, zero-padded (cut if longer)
///    56  reserved2       4   zero
///    60  checksum        4   CRC-32 of the 60 bytes before
struct window_header {
    char magic[8];
    std::uint32_t format;
    std::uint32_t kind;
    std::uint32_t slot_bytes;
    std::uint32_t first_slot;
    std::uint32_t index;
    std::uint32_t reserved;
    char name[24];
    std::uint32_t reserved2;
    std::uint32_t checksum;

    static constexpr std::uint32_t current_format = 1;
    /// The header page: this struct, then the window's root block.
    static constexpr std::size_t page_bytes = 4096;

    /// The header of the window whose header page contains `address`.
    [[nodiscard]] static const window_header& of(const void* address) noexcept {
        const auto page = reinterpret_cast<std::uintptr_t>(address) & ~(page_bytes - 1);
        return *reinterpret_cast<const window_header*>(page);
    }
    [[nodiscard]] std::uint32_t computed_checksum() const noexcept;
};
static_assert(sizeof(window_header) == 64);

/// One growing file of the segment, mapped whole at its place in the address space.
///
/// The mapping covers the window's full size from the start; pages beyond the file's end become
/// valid as the file grows, in every process that has it mapped. It is never moved or remapped.
/// Growing allocates the blocks first, so a later store cannot fail for lack of space.
///
/// Not thread-safe: one writer grows and shrinks. Invariant: bytes() is the file's length and a
/// multiple of page_bytes.
class window {
public:
    enum class mode {
        create,
        read_write,
        read_only,
        private_copy, ///< stores stay in this process; the file does not change
    };

    struct place {
        const address_space* addresses;
        std::uint32_t index;
    };
    struct geometry {
        window_kind kind;
        std::uint32_t slot_bytes;
        std::uint32_t first_slot;
    };

    /// Creates `file` (replacing a leftover of an unfinished creation) with its header page.
    /// Throws access_error, io_error, out_of_space_error.
    static window create(const place&, const std::string& file, const geometry&);

    /// Maps an existing `file`. Throws access_error, io_error, and damaged_error or format_error
    /// when the header is not the one of this kind, place and geometry. Changes nothing.
    static window open(const place&, const std::string& file, const geometry&, mode);

    window(window&& other) noexcept;
    window& operator=(window&&) = delete;
    ~window();

    [[nodiscard]] std::byte* base() const noexcept { return base_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
    [[nodiscard]] std::uint32_t index() const noexcept { return place_.index; }
    /// Its path.
    [[nodiscard]] const std::string& file() const noexcept { return file_; }
    /// The last part of its path.
    [[nodiscard]] std::string name() const { return file_.substr(file_.rfind('/') + 1); }
    [[nodiscard]] window_header& header() const noexcept {
        return *reinterpret_cast<window_header*>(base_);
    }
    /// What follows the header in the header page.
    [[nodiscard]] std::byte* root() const noexcept { return base_ + sizeof(window_header); }
    static constexpr std::size_t root_capacity = window_header::page_bytes - sizeof(window_header);

    /// Makes the first `needed` bytes usable. Grows by a 32nd of the file, but by at least 64 KiB
    /// and at most 16 MiB, and to a multiple of 2 MiB from 16 MiB on; up to that much may be unused
    /// at the end. New bytes read as zero. Throws out_of_space_error (also for a limit on file
    /// sizes or on the memory of a control group), limit_error, io_error; then nothing changed.
    void grow_to(std::size_t needed);
    /// Makes bytes [offset, offset + length) usable without allocating what lies before them.
    /// Throws as grow_to does.
    void grow_range(std::size_t offset, std::size_t length);
    /// Truncates the file after `needed` bytes, rounded up to a page. Never grows it. Throws
    /// io_error; then nothing changed.
    void shrink_to(std::size_t needed);
    /// Punches the whole pages within [offset, offset + length); they read as zero afterwards.
    /// Returns false, with the pages unchanged, where the file system does not support it, so
    /// nothing may depend on it.
    bool punch(std::size_t offset, std::size_t length) noexcept;
    /// As punch, for bytes that nobody reads before they are written again.
    void discard(std::size_t offset, std::size_t length) noexcept;
    /// Ensures that stores to [offset, offset + length) of the file cannot fail, although it may
    /// have been punched. Throws out_of_space_error, io_error; then nothing changed.
    void fill_holes(std::size_t offset, std::size_t length);
    /// How many of the file's bytes take room in the file system: all but the punched ones.
    [[nodiscard]] std::size_t held_bytes() const noexcept;
    /// Whether reading what was punched allocates it again, as on tmpfs: then a read kills the
    /// process when the file system is full.
    [[nodiscard]] bool holes_take_space() const noexcept;
    /// Writes every page to the file's storage and waits for it. Throws io_error.
    void sync() const;
    /// Copies bytes of the file without filling holes. Requires that the file is long enough.
    /// Throws io_error.
    void read(std::size_t offset, std::span<std::byte> into) const;
    /// As read(), for a file that may have become shorter. Returns how many bytes were read.
    [[nodiscard]] std::size_t read_to_end(std::size_t offset, std::span<std::byte> into) const;
    /// Rereads the length (a read-only mapping of a file that another process grows). Throws
    /// io_error.
    void refresh();

private:
    window(const place&, std::string, file_descriptor, window_kind, mode);

    void write_header(const geometry&);
    void check_header(const geometry&) const;
    void extend(std::size_t offset, std::size_t length);
    void allocate(std::size_t offset, std::size_t length);
    void set_bytes(std::size_t bytes) noexcept;
    void cover(std::size_t bytes);
    void changing(std::size_t offset, std::size_t length) noexcept;
    bool punch_pages(std::size_t begin, std::size_t end) noexcept;
    template <typename Visitor>
    void each_content(std::size_t offset, std::size_t length, Visitor&& visit) const noexcept;
    void changing_content(std::size_t offset, std::size_t length) noexcept;
    [[nodiscard]] bool may_have_holes() noexcept;

    place place_;
    std::string file_;
    file_descriptor descriptor_;
    window_kind kind_;
    std::byte* base_ = nullptr;
    std::size_t bytes_ = 0;
    std::size_t limit_ = 0;
    bool is_written_ = false;   ///< by this process, so the page tracker is told
    std::optional<bool> holes_; ///< whether there may be holes; empty until first asked
};

} // namespace chainbase
