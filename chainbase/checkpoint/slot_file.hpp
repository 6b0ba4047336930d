#pragma once

#include <chainbase/checkpoint/disk.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace chainbase::checkpoint {

inline constexpr std::size_t page_bytes = 4096;

/// A slot of `pages`; 0 means a page of zeros, which takes no slot.
using slot = std::uint32_t;
using page = std::array<std::byte, page_bytes>;

/// The file `pages`: slots of one page each, free or in use. The page tables of the publications
/// tell which are in use; the file does not record it. Slot 0 is the file's header.
///
///     0  magic     16  "chainbase pages" and a zero byte
///    16  format     4
///    20  reserved   4  zero
///    24  identity  16  of the state
///    40  sum        8  XXH3-64 of the 40 bytes before
///
/// After a kill a page with the same sum counts as unchanged. Sums of pages are seeded with the
/// header's sum, which covers a random number, so that nobody who can write into the state (through
/// transactions) can prepare two pages with the same sum. In format 1 they are not seeded.
///
/// Not thread-safe.
class slot_file {
public:
    using identity = std::array<std::byte, 16>;

    /// Creates or opens the file; all slots count as free until use() is called. Throws io_error,
    /// out_of_space_error, and for an existing file format_error, damaged_error, and usage_error
    /// when it belongs to another state.
    slot_file(disk& on, std::filesystem::path file, const identity& state, disk::mode how);

    /// Marks a slot as in use. Throws damaged_error when the file has no such slot.
    void use(slot one);
    [[nodiscard]] bool is_used(slot one) const noexcept { return one < used_.size() && used_[one]; }
    /// Ensures that `count` slots can be taken and written. Throws out_of_space_error, io_error.
    void reserve(std::uint64_t count);
    /// Takes a free slot into use. Requires a reserved slot.
    [[nodiscard]] slot take();
    void free(slot one) noexcept;
    [[nodiscard]] std::uint64_t slots() const noexcept { return used_.size(); }
    [[nodiscard]] std::uint64_t free_slots() const noexcept { return free_; }

    /// Writes `content` to slot `one`; adjacent slots are batched into one write.
    void write(slot one, std::span<const std::byte, page_bytes> content);
    /// Waits until all written slots are on storage. See disk_file::sync.
    void sync();
    /// Reads `into.size() / page_bytes` slots from `first` on. Throws damaged_error when the file
    /// ends before.
    void read(slot first, std::span<std::byte> into) const;
    /// Reads one slot. Throws damaged_error when its content does not have this sum.
    void read(slot one, std::uint64_t sum, std::span<std::byte, page_bytes> into) const;

    /// XXH3-64 of a page, seeded as this file requires; never 0.
    [[nodiscard]] std::uint64_t
    sum_of(std::span<const std::byte, page_bytes> content) const noexcept;

    [[nodiscard]] const std::filesystem::path& file() const noexcept { return path_; }

private:
    static constexpr std::size_t batch_bytes = std::size_t{1} << 20;

    void write_header(const identity& state);
    void check_header(const identity& state);
    void give_back_reserved() noexcept;
    void flush();

    std::filesystem::path path_;
    std::unique_ptr<disk_file> file_;
    std::uint64_t seed_ = 0; ///< of sums
    std::vector<bool> used_;
    std::uint64_t free_ = 0;
    std::uint64_t next_ = 1; ///< where to look for a free slot
    std::vector<std::byte> batch_;
    slot batch_first_ = 0;
};

} // namespace chainbase::checkpoint
