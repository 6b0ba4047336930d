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

/// What a block changed: bytes of the address space as they were when it ended, and how long the
/// files were. Putting them over what was there when it began gives what was there when it ended.
///
/// As it is stored:
///
///      0  sequence     8  of the block, +1 with each
///      8  revision     8  of the state when it ended
///     16  committed    8
///     24  lengths      8  how many
///     32  changes      8  how many
///     40  content      8  bytes
///     48  synced       8  the newest block that was known to be on storage when this one went
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
    /// Of a change, and where its bytes begin in the content.
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

        /// That of no block: it stands where the next one will, and says what is synced.
        [[nodiscard]] static head end_mark(std::uint64_t seed, std::uint64_t synced) noexcept;
        [[nodiscard]] bool is_end_mark() const noexcept;

        [[nodiscard]] bool is_whole(std::uint64_t seed) const noexcept;
        /// Of the body. Requires counts that fit().
        [[nodiscard]] std::uint64_t body_bytes() const noexcept;
        /// Whether the counts can be those of a body of at most `bytes`.
        [[nodiscard]] bool fits(std::uint64_t bytes) const noexcept;
    };
    static_assert(sizeof(head) == 72);

    /// More than that is not described block by block.
    static constexpr std::uint64_t most_content = std::uint64_t{256} << 20;

    /// @name Making one, by the writer when a block ended
    /// @{
    /// Begins anew, with the memory that it has.
    void begin(std::uint64_t sequence, const undo_log& log) noexcept;
    void add_length(length one) { lengths_.push_back(one); }
    /// Copies `bytes` bytes from `base + offset`, and what lies beside them in the same words of 4
    /// bytes. Throws std::bad_alloc, limit_error when it is too much.
    void add(const std::byte* base, std::uint64_t offset, std::uint64_t bytes);
    /// @}

    /// Appends it as it is stored, each byte once; `synced` is a block, or 0. Throws
    /// std::bad_alloc.
    void encode(std::uint64_t seed, std::uint64_t synced, std::vector<std::byte>& to);
    /// Of a body whose sum matches. Throws damaged_error saying what is wrong in it.
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
    void leave_each_byte_once();
    [[nodiscard]] std::vector<record_trailer> runs() const;

    std::uint64_t sequence_ = 0;
    std::int64_t revision_ = 0;
    std::int64_t committed_ = 0;
    std::vector<length> lengths_;
    std::vector<change> changes_;
    boost::container::vector<std::byte> content_; // grows without being cleared
};

} // namespace chainbase::checkpoint
namespace chainbase::checkpoint {

/// A run of the redo log in which no block is missing has a number, the upper half of its blocks'
/// sequence numbers. A number is never used again, so that no block follows one of another run.
using redo_run = std::uint32_t;

[[nodiscard]] constexpr redo_run run_of(std::uint64_t sequence) noexcept {
    return static_cast<redo_run>(sequence >> 32);
}
[[nodiscard]] constexpr std::uint64_t first_of_run(redo_run run) noexcept {
    return std::uint64_t{run} << 32;
}

/// The begin of a file `redo.<first>`; blocks follow, then an end mark, if it came to storage, and
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
    /// Empty, or what is wrong.
    [[nodiscard]] std::string difference(const slot_file::identity& state,
                                         std::uint64_t first) const;
};
static_assert(sizeof(redo_header) == 64);

[[nodiscard]] std::filesystem::path redo_file(const std::filesystem::path& folder,
                                              std::uint64_t first);
/// The first blocks of the files in `folder`, in order; a number that no run has is left out.
/// Throws io_error.
[[nodiscard]] std::vector<std::uint64_t> redo_files(disk& on, const std::filesystem::path& folder);
/// Removes the files that begin before the block `needed`, the first one that a checkpoint names.
/// Throws io_error.
void remove_redo_before(disk& on, const std::filesystem::path& folder, std::uint64_t needed);

/// Reads blocks one after the other from `first` on, with which a file begins, and through the
/// files that follow. A file that cannot be read ends them as a damaged one does.
class redo_reader {
public:
    redo_reader(disk& on, std::filesystem::path folder, const slot_file::identity& state,
                std::uint64_t first);

    /// Whether there is a next block, which is then in `into`.
    bool next(redo_block& into);
    /// Why there was no next one; empty when the log ends there.
    [[nodiscard]] const std::string& why() const noexcept { return why_; }
    /// Whether there was a next one that had been synced, as what follows it tells: so this is not
    /// what a crash left unfinished.
    [[nodiscard]] bool is_damaged() const noexcept { return is_damaged_; }
    /// Where the next block would begin, as text.
    [[nodiscard]] std::string place() const;

private:
    bool try_next(redo_block& into);
    bool open_file();
    bool read_here(redo_block& into);
    void look_behind();
    [[nodiscard]] std::uint64_t next_file() const;
    [[nodiscard]] bool is_vouched_for() const;
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
