#pragma once

#include <chainbase/checkpoint/disk.hpp>
#include <chainbase/checkpoint/slot_file.hpp>
#include <pool_allocator/write_barrier.hpp>
#include <undo/fwd.hpp>

#include <boost/container/vector.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace chainbase {
class undo_log;
}

namespace chainbase::checkpoint {

/// The redo record of a block: the changed bytes of the address space and the file lengths as of
/// its end. Applied to the state before the block, it gives the state after it.
///
/// As it is stored:
///
///      0  sequence     8  of the block, +1 with each block
///      8  revision     8  of the state at its end
///     16  committed    8
///     24  lengths      8  how many
///     32  changes      8  how many
///     40  content      8  bytes
///     48  synced       8  the newest block known to be on storage when this one was written
///     56  body_sum     8  XXH3-64 of all that follows the head
///     64  sum          8  XXH3-64 of the 64 bytes before, seeded with the sum of the file's header
///     72  lengths        16 bytes each: window, bytes
///         changes        8 bytes each: a record_trailer, of kind words
///         content        the changes' bytes, one after the other
class redo_block {
public:
    struct length {
        std::uint64_t window;
        std::uint64_t bytes;
    };
    /// A changed range, and where its bytes begin in the content.
    struct change {
        std::uint64_t offset;
        std::uint32_t bytes;
        std::uint32_t at;
    };
    struct head {
        std::uint64_t sequence;
        std::int64_t revision;
        std::int64_t committed;
        std::uint64_t lengths;
        std::uint64_t changes;
        std::uint64_t content;
        std::uint64_t synced;
        std::uint64_t body_sum;
        std::uint64_t sum;

        /// The end mark: a head without a block, overwritten by the next one; it records what is
        /// synced.
        [[nodiscard]] static head end_mark(std::uint64_t seed, std::uint64_t synced) noexcept;
        [[nodiscard]] bool is_end_mark() const noexcept;

        [[nodiscard]] bool is_whole(std::uint64_t seed) const noexcept;
        /// The length of the body. Requires that fits() holds.
        [[nodiscard]] std::uint64_t body_bytes() const noexcept;
        /// Whether a body with these counts takes at most `bytes`.
        [[nodiscard]] bool fits(std::uint64_t bytes) const noexcept;
    };
    static_assert(sizeof(head) == 72);

    /// The limit of a block's content; a larger block ends the run.
    static constexpr std::uint64_t most_content = std::uint64_t{256} << 20;

    /// @name Building a block, by the writer at its end
    /// @{
    /// Starts a new block, reusing its memory.
    void begin(std::uint64_t sequence, const undo_log& log) noexcept;
    void add_length(length one) { lengths_.push_back(one); }
    /// Copies `bytes` bytes from `base + offset`, rounded out to words of 4 bytes. Throws
    /// std::bad_alloc, and limit_error beyond most_content.
    void add(const std::byte* base, std::uint64_t offset, std::uint64_t bytes);
    /// @}

    /// Appends the stored form, each changed byte once; `synced` is a block's sequence or 0. Throws
    /// std::bad_alloc.
    void encode(std::uint64_t seed, std::uint64_t synced, std::vector<std::byte>& to);
    /// Decodes a body whose sum matches. Throws damaged_error naming what is wrong in it.
    void decode(const head& of, std::span<const std::byte> body);

    [[nodiscard]] std::uint64_t sequence() const noexcept { return sequence_; }
    [[nodiscard]] std::int64_t revision() const noexcept { return revision_; }
    [[nodiscard]] std::int64_t committed() const noexcept { return committed_; }
    [[nodiscard]] const std::vector<length>& lengths() const noexcept { return lengths_; }
    [[nodiscard]] const std::vector<change>& changes() const noexcept { return changes_; }
    [[nodiscard]] const std::byte* bytes_of(const change& one) const noexcept {
        return content_.data() + one.at;
    }
    [[nodiscard]] std::uint64_t content_bytes() const noexcept { return content_.size(); }

private:
    void drop_duplicate_bytes();
    [[nodiscard]] std::vector<record_trailer> runs() const;

    std::uint64_t sequence_ = 0;
    std::int64_t revision_ = 0;
    std::int64_t committed_ = 0;
    std::vector<length> lengths_;
    std::vector<change> changes_;
    boost::container::vector<std::byte> content_; // grows without zero-filling
};

} // namespace chainbase::checkpoint
namespace chainbase::checkpoint {

/// A run is a gapless series of blocks in the redo log. Its number is the upper half of its blocks'
/// sequence numbers, and never reused, so that a block never follows one of another run.
using redo_run = std::uint32_t;

[[nodiscard]] constexpr redo_run run_of(std::uint64_t sequence) noexcept {
    return static_cast<redo_run>(sequence >> 32);
}
[[nodiscard]] constexpr std::uint64_t first_of_run(redo_run run) noexcept {
    return std::uint64_t{run} << 32;
}

/// The header of a file `redo.FIRST`; blocks follow, then an end mark, if it reached storage, and
/// zeros.
///
///      0  magic     16  "chainbase redo" and zero bytes
///     16  format     4
///     20  reserved   4  zero
///     24  identity  16  of the state
///     40  first      8  sequence of the first block, also in the file's name in hexadecimal
///     48  reserved   8  zero
///     56  sum        8  XXH3-64 of the 56 bytes before
struct redo_header {
    char magic[16];
    std::uint32_t format;
    std::uint32_t reserved;
    slot_file::identity state;
    std::uint64_t first;
    std::uint64_t reserved2;
    std::uint64_t sum;

    [[nodiscard]] static redo_header make(const slot_file::identity& state,
                                          std::uint64_t first) noexcept;
    /// What is wrong with this header; empty if nothing is.
    [[nodiscard]] std::string difference(const slot_file::identity& state,
                                         std::uint64_t first) const;
};
static_assert(sizeof(redo_header) == 64);

[[nodiscard]] std::filesystem::path redo_file(const std::filesystem::path& folder,
                                              std::uint64_t first);
/// The first blocks of the files in `folder`, in order; invalid numbers are left out. Throws
/// io_error.
[[nodiscard]] std::vector<std::uint64_t> redo_files(disk& on, const std::filesystem::path& folder);
/// Removes the files that begin before block `needed`, the first block that a checkpoint needs.
/// Throws io_error.
void remove_redo_before(disk& on, const std::filesystem::path& folder, std::uint64_t needed);

/// Reads blocks in sequence from `first` on, which must begin a file, through the files that
/// follow. An unreadable file ends the sequence as a damaged one does.
class redo_reader {
public:
    redo_reader(disk& on, std::filesystem::path folder, const slot_file::identity& state,
                std::uint64_t first);

    /// Reads the next block into `into`. Returns false if there is none.
    bool next(redo_block& into);
    /// Why there was no next block; empty at the regular end of the log.
    [[nodiscard]] const std::string& why() const noexcept { return why_; }
    /// Whether the missing block had been synced, as later blocks state: so it is damage, not a
    /// write that a crash cut off.
    [[nodiscard]] bool is_damaged() const noexcept { return is_damaged_; }
    /// File and offset of the next block, as text.
    [[nodiscard]] std::string place() const;

private:
    bool try_next(redo_block& into);
    bool open_file();
    bool read_here(redo_block& into);
    void check_following_blocks();
    [[nodiscard]] std::uint64_t next_file() const;
    [[nodiscard]] bool is_known_synced() const;
    [[nodiscard]] bool is_end(const redo_block::head& found, std::size_t bytes) const noexcept;

    disk& on_;
    std::filesystem::path folder_;
    slot_file::identity state_;
    std::uint64_t expected_;
    std::vector<std::uint64_t> files_;
    std::unique_ptr<disk_file> file_;
    std::filesystem::path name_;
    std::uint64_t seed_ = 0;
    std::uint64_t at_ = 0;
    std::vector<std::byte> body_;
    std::string why_;
    bool is_damaged_ = false;
};

} // namespace chainbase::checkpoint
