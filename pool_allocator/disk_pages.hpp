#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

/// The pages of mapped files on a disk, and how the kernel is to handle them.
///
/// Pages of files in memory are huge. Those of files on a disk, too, while the memory has room for
/// all files of this process; but once it has not, each miss would read 2 MiB, and each change
/// write as much back. So a thread looks each second whether pages are missed that the memory has
/// no room for; the files then get small pages, nothing is read ahead, and what this process writes
/// is dropped from memory once. It exists while there are such files.
///
/// Thread-safe. Whatever fails costs speed and nothing else.
namespace chainbase::disk_pages {

/// What this process does with a file.
enum class use {
    read,   ///< anywhere
    change, ///< anywhere
    append, ///< writes it from one end to the other
};

/// Advises about a mapping of `bytes` from `base` on of the file that `descriptor` has open, now
/// and, until forget(), when memory becomes short or is enough again.
void watch(std::byte* base, std::size_t bytes, int descriptor, use how) noexcept;
void forget(std::byte* base) noexcept;

/// Whether a file is on a disk, and not in memory.
[[nodiscard]] bool has(int descriptor) noexcept;

/// For tests: what memory has room for, instead of asking the system; 0: ask again.
void assume_room(std::uint64_t bytes) noexcept;

/// Whether the files of this process have small pages, since memory has no room for all of them.
[[nodiscard]] bool are_missed() noexcept;

/// How many reads of the disk are to be under way at once.
inline constexpr std::size_t reads_at_once = 32;

/// Calls look(0) to look(parts - 1), each once, up to reads_at_once of them at the same time, and
/// returns when all are done. They wait for the disk together and not one after the other. Throws
/// what the first of them that failed threw; then some may not have been called. Where there can be
/// no threads, or another thread is here, one call follows the other.
void together(std::size_t parts, const std::function<void(std::size_t)>& look);

} // namespace chainbase::disk_pages
