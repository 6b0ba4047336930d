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
/// It lies on the operating system's disk, or on a test's simulated disk that outlives it. A
/// refused call throws io_error with file, operation, offset and reason; a full disk, quota or file
/// size limit throws out_of_space_error with file, offset and bytes asked. `read_at` may be called
/// by any number of threads at once, everything else by one.
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
    /// The disk passed when it was opened.
    [[nodiscard]] disk* on() const noexcept { return on_; }

    /// Whether `path` names this file now, not a replacement.
    [[nodiscard]] bool is_at(const std::filesystem::path& path) const noexcept;

    /// The file's inode number, which tells a copy apart; 0 on a simulated disk.
    [[nodiscard]] std::uint64_t inode() const;

    /// Bytes in the file now.
    [[nodiscard]] std::uint64_t size() const;

    /// Fills `out` from `offset` on; returns the bytes read, fewer only at the end of the file.
    std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const;

    /// Writes all of `data` at `offset`; after an exception any part of it may be in the file.
    void write_at(std::uint64_t offset, byte_view data);

    /// Writes the header of a new file. Removes the file after an exception: a partial header would
    /// identify no format.
    void write_first(byte_view header);

    /// Cuts the file to `size` bytes.
    void truncate(std::uint64_t size);
    /// The same; returns false when refused.
    [[nodiscard]] bool try_truncate(std::uint64_t size) noexcept;

    /// Returns when the file's content is on the device (fdatasync). After a failure, what was
    /// written since the last successful sync may be lost, and no later call reports it.
    void sync() const;
    /// Returns when the file's name is on the device.
    void sync_name() const;

    /// Takes the writer lock of the file, which the kernel releases when this file closes or the
    /// process dies; throws locked_error when another file object holds it. Only the operating
    /// system's disk has locks.
    void lock();
    /// Whether another file object holds the writer lock.
    [[nodiscard]] bool is_locked_by_another() const noexcept;

    void close() noexcept;

private:
    file(std::filesystem::path path, int flags);
    file(std::filesystem::path path, disk* on, std::unique_ptr<disk_file> io) noexcept;

    std::filesystem::path path_;
    disk* on_ = nullptr;
    std::unique_ptr<disk_file> io_;
    system_file* system_ = nullptr; ///< the same file, unless on another disk
};

/// The disk that holds this file's directory entry; null is the operating system's.
[[nodiscard]] disk& names_on(disk* on) noexcept;

} // namespace chainbase
