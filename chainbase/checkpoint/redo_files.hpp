#pragma once

#include <chainbase/checkpoint/disk.hpp>
#include <chainbase/checkpoint/redo_block.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

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
