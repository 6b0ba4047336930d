#pragma once

#include <tools/block_log/bytes.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace chainbase {

class disk;
class disk_file;
class system_file;

/// An open file; closed by the destructor.
///
/// It lies on the operating system's disk, or on another one that a test has in its hands and that
/// outlives it. A refused call throws io_error with file, operation, offset and reason; a full
/// disk, quota or file size limit throws out_of_space_error with file, offset and bytes asked.
/// `read_at` may be called by any number of threads at once, everything else by one.
class file {
public:
    /// No file; only assignment and destruction are allowed.
    file();

    /// Opens an existing file for reading. `on`: null is the operating system's disk.
    [[nodiscard]] static file open_read(const std::filesystem::path& path, disk* on = nullptr);
    /// Opens an existing file for reading and writing.
    [[nodiscard]] static file open_write(const std::filesystem::path& path, disk* on = nullptr);
    /// Makes a new file; throws usage_error when something of that name exists.
    [[nodiscard]] static file create(const std::filesystem::path& path, disk* on = nullptr);

    file(file&& other) noexcept;
    file& operator=(file&& other) noexcept;
    ~file();

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    [[nodiscard]] bool is_open() const noexcept { return io_ != nullptr; }
    /// The disk that was named when it was opened.
    [[nodiscard]] disk* on() const noexcept { return on_; }

    /// Whether the file has this name now, and none that took its place.
    [[nodiscard]] bool is_at(const std::filesystem::path& path) const noexcept;

    /// Its number in its file system, by which a copy is told from it; 0 on a disk that a test has
    /// in its hands.
    [[nodiscard]] std::uint64_t inode() const;

    /// Bytes in the file now.
    [[nodiscard]] std::uint64_t size() const;

    /// Fills `out` from `offset` on; returns the bytes read, fewer only at the end of the file.
    std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const;

    /// Writes all of `data` at `offset`; after an exception any part of it may be in the file.
    void write_at(std::uint64_t offset, byte_view data);

    /// Writes the header of a file that was just made. A half of one would be no file of any kind:
    /// after an exception the file is removed.
    void write_first(byte_view header);

    /// Cuts the file to `size` bytes.
    void truncate(std::uint64_t size);
    /// The same; false when it is refused.
    [[nodiscard]] bool try_truncate(std::uint64_t size) noexcept;

    /// Returns when the file's content is on the device (fdatasync). After it threw, what was
    /// written since the last one that did not may be lost, and no later call tells.
    void sync() const;
    /// Returns when the file's name is on the device.
    void sync_name() const;

    /// Takes the file's one writer's lock, which the kernel releases when this file closes or the
    /// process dies; throws locked_error when another file object has it. Only the operating
    /// system's disk has locks.
    void lock();
    /// Whether another file object has that lock: a writer is at work.
    [[nodiscard]] bool is_locked_by_another() const noexcept;

    void close() noexcept;

private:
    file(std::filesystem::path path, int flags);
    file(std::filesystem::path path, disk* on, std::unique_ptr<disk_file> io) noexcept;

    std::filesystem::path path_;
    disk* on_ = nullptr;
    std::unique_ptr<disk_file> io_;
    system_file* system_ = nullptr; ///< the same, unless it is on another disk
};

/// The disk whose files have names like this one's: null is the operating system's.
[[nodiscard]] disk& names_on(disk* on) noexcept;

} // namespace chainbase
