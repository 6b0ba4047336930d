#pragma once

#include <tools/block_log/bytes.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace chainbase {

/// An open file of the operating system; closed by the destructor.
///
/// A refused call throws io_error with file, operation, offset and reason; a full disk, quota or
/// file size limit throws out_of_space_error with file, offset and bytes asked. `read_at` may be
/// called by any number of threads at once, everything else by one.
class file {
public:
    /// No file; only assignment and destruction are allowed.
    file() = default;

    /// Opens an existing file for reading.
    [[nodiscard]] static file open_read(const std::filesystem::path& path);
    /// Opens an existing file for reading and writing.
    [[nodiscard]] static file open_write(const std::filesystem::path& path);
    /// Makes a new file; throws usage_error when something of that name exists.
    [[nodiscard]] static file create(const std::filesystem::path& path);

    file(file&& other) noexcept;
    file& operator=(file&& other) noexcept;
    ~file();

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }

    /// Whether the file has this name now, and none that took its place.
    [[nodiscard]] bool is_at(const std::filesystem::path& path) const noexcept;

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
    /// The same; false when the system refuses.
    [[nodiscard]] bool try_truncate(std::uint64_t size) noexcept;

    /// Returns when the file's content is on the device (fdatasync).
    void sync() const;

    /// Takes the file's one writer's lock, which the kernel releases when this file closes or the
    /// process dies; throws locked_error when another file object has it.
    void lock();

    void close() noexcept;

private:
    file(std::filesystem::path path, int flags);
    [[noreturn]] void fail(const std::string& operation, int code) const;
    [[noreturn]] void fail_write(std::uint64_t offset, std::size_t asked, int code) const;

    std::filesystem::path path_;
    int descriptor_ = -1;
};

} // namespace chainbase
