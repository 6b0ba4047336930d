#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>

namespace chainbase {

/// @name Whether files are memory themselves, which no disk holds: those of tmpfs and ramfs
/// False if that cannot be told.
/// @{
[[nodiscard]] bool is_memory(int descriptor) noexcept;
[[nodiscard]] bool is_memory(const std::filesystem::path& file) noexcept;
/// Of a file system of this type, as /proc/self/mountinfo names it.
[[nodiscard]] bool is_memory_type(std::string_view file_system) noexcept;
/// @}

/// What of some files is in memory, in bytes. A figure that the kernel does not tell is nothing,
/// and so is every sum with it.
struct cached_bytes {
    std::optional<std::uint64_t> resident = 0;  ///< in the page cache
    std::optional<std::uint64_t> dirty = 0;     ///< of these, to be written to the disk; 0 on tmpfs
    std::optional<std::uint64_t> writeback = 0; ///< of these, being written to the disk now
    /// That the file system holds, and not in memory: to be read from the disk, or from swap. Too
    /// small by those pages of holes that are in memory.
    std::optional<std::uint64_t> missing = 0;

    cached_bytes& operator+=(const cached_bytes& other) noexcept;
};

/// How the kernel is asked.
enum class page_cache_call {
    cachestat, ///< Linux 6.5; where it is missing or forbidden, and on overlayfs: mincore
    mincore,   ///< resident only; at a hundred times the cost
};

/// A part of a file.
struct file_part {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
};

/// What of a part of an open file is in memory, without `missing`; a page that is partly in it
/// counts as a whole, up to the bytes of the part. Brings no page into memory, takes no lock, and
/// does not mind a file that is cut or grows meanwhile. The kernel tells it to the owner of a file,
/// and to users who may write it; for others all is nothing.
///
/// Requires a descriptor opened for reading, of `file`. Throws io_error. Thread-safe.
[[nodiscard]] cached_bytes cached_part_of(int descriptor, const std::filesystem::path& file,
                                          file_part part,
                                          page_cache_call call = page_cache_call::cachestat);

/// What of a file is in memory; nothing of one that this user may not read, zeros of one that is
/// gone. The rest as cached_part_of(). While nothing of the machine is swapped out, all that tmpfs
/// holds is in memory: cachestat is not called then.
[[nodiscard]] cached_bytes cached_bytes_of(const std::filesystem::path& file,
                                           page_cache_call call = page_cache_call::cachestat);

/// What of files that are asked for repeatedly is in memory. Where pages are small the kernel takes
/// 100 ns for each of them, so a file is asked for again only after twenty times as long as its
/// last answer took. Thread-safe: one call at a time asks.
class cached_files {
public:
    /// Throws as cached_bytes_of().
    [[nodiscard]] cached_bytes of(const std::filesystem::path& file);

private:
    struct answer {
        cached_bytes bytes;
        std::chrono::steady_clock::time_point due; ///< when it is too old
    };
    std::mutex asking_;
    std::map<std::filesystem::path, answer> answers_;
};

} // namespace chainbase
