#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>

/// The pages of mapped files on a disk, and how the kernel is to handle them.
///
/// Pages of files in memory are huge. Those of files on a disk are small: a page is read and
/// written back whole, so with a huge one each miss reads 2 MiB, and each change writes as much.
/// Nor is anything read ahead of a file that this process changes, since the kernel does so in
/// large pages; instead it is brought into memory from one end to the other when it is opened, if
/// memory has room for it.
///
/// Thread-safe. Whatever fails costs speed and nothing else.
namespace chainbase::disk_pages {

/// Advises about a mapping of `bytes` from `base` on of the file that `descriptor` has open, until
/// forget(). With `changes`, a thread brings the file into memory if there is room for it.
void watch(std::byte* base, std::size_t bytes, int descriptor, bool changes) noexcept;
void forget(std::byte* base) noexcept;

/// Whether a file is on a disk, and not in memory.
[[nodiscard]] bool has(int descriptor) noexcept;
[[nodiscard]] bool has(const std::filesystem::path& file) noexcept;

/// For tests: what memory has room for, instead of asking the system; 0: ask again.
void assume_room(std::uint64_t bytes) noexcept;

/// Whether this process waited for the disk often in the last second: more than now and then,
/// for pages of files that watch() was told of, or of others.
[[nodiscard]] bool are_missed() noexcept;

/// How many reads of the disk are to be under way at once.
inline constexpr std::size_t reads_at_once = 32;

/// Calls look(0) to look(parts - 1), each once, up to reads_at_once of them at the same time, and
/// returns when all are done. They wait for the disk together and not one after the other. Throws
/// what the first of them that failed threw; then some may not have been called. Where there can be
/// no threads, or another thread is here, one call follows the other.
void together(std::size_t parts, const std::function<void(std::size_t)>& look);

} // namespace chainbase::disk_pages
