#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

/// The pages of mapped files on a disk, and how the kernel is to handle them.
///
/// Pages of files in memory are huge. Those of files on a disk are small, and nothing around them
/// is read with them: a page is read and written back whole, so with a huge one each miss reads 2
/// MiB, and each change writes as much. A file that is opened to be changed, or that is going
/// to be read as a whole, is read into memory from one end to the other by a thread, if memory has
/// room for all such files of this process.
///
/// Thread-safe. It is advice: where the system refuses it, or a thread, only speed is lost.
namespace chainbase::disk_pages {

/// Advises about a mapping of `bytes` from `base` on of the file that `descriptor` has open, until
/// forget(). With `changes`, the file is also read into memory. The descriptor stays open until
/// forget() returns.
void advise(std::byte* base, std::size_t bytes, int descriptor, bool changes) noexcept;
void forget(std::byte* base) noexcept;
/// Reads the file of the mapping at `base` into memory, as if it had `changes`: for a walk of all
/// that it holds.
void read_all(const std::byte* base) noexcept;

/// For tests: what memory has room for, instead of asking the system; 0: ask again.
void assume_room(std::uint64_t bytes) noexcept;

/// Whether this process waited for the disk 32 times or more in the last second (major faults that
/// read, of whatever it has mapped). Only while it has mappings of files on a disk.
[[nodiscard]] bool are_missed() noexcept;

/// For tests: that it did, whatever it waited for; false: count again.
void assume_misses(bool yes) noexcept;

/// How often the calling thread waited so far (major faults, also for pages that a file never had).
[[nodiscard]] std::uint64_t misses_of_this_thread() noexcept;

/// How many reads of the disk are to be under way at once.
inline constexpr std::size_t reads_at_once = 32;

/// Calls read(0) to read(parts - 1), each once, up to reads_at_once of them at the same time, and
/// returns when all are done. They wait for the disk together and not one after the other. Throws
/// what the first of them that failed threw; then some may not have been called. Where there can be
/// no threads, or another thread is here, one call follows the other.
void in_parallel(std::size_t parts, const std::function<void(std::size_t)>& read);

} // namespace chainbase::disk_pages
