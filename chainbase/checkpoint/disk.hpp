#pragma once

#include <pool_allocator/base/file_descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace chainbase {

/// An open file of a disk. Writes are on storage only after sync(): an earlier crash may lose, tear
/// or reorder them.
///
/// All calls throw io_error, and where they need space out_of_space_error, naming file and bytes.
class disk_file {
public:
    virtual ~disk_file() = default;

    /// Stores `data` at `offset`, which may lie beyond the end.
    virtual void write(std::uint64_t offset, std::span<const std::byte> data) = 0;
    /// Reads up to into.size() bytes, fewer at the file's end. Returns how many.
    [[nodiscard]] virtual std::size_t read(std::uint64_t offset,
                                           std::span<std::byte> into) const = 0;
    /// Waits until content and length are on storage. If it throws, everything written since the
    /// last successful sync() may be lost, and no later call reports it: write it again.
    virtual void sync() = 0;
    /// Ensures that writing to [offset, offset + length) finds space.
    virtual void reserve(std::uint64_t offset, std::uint64_t length) = 0;
    /// Truncates the file, or extends it with zeros.
    virtual void resize(std::uint64_t bytes) = 0;
    [[nodiscard]] virtual std::uint64_t bytes() const = 0;
};

/// An open file of the operating system. Errors name file, operation, offset and bytes.
class system_file : public disk_file {
public:
    system_file(std::filesystem::path name, file_descriptor descriptor);

    void write(std::uint64_t offset, std::span<const std::byte> data) override;
    [[nodiscard]] std::size_t read(std::uint64_t offset, std::span<std::byte> into) const override;
    void sync() override;
    void reserve(std::uint64_t offset, std::uint64_t length) override;
    void resize(std::uint64_t bytes) override;
    [[nodiscard]] std::uint64_t bytes() const override;

    [[nodiscard]] const file_descriptor& descriptor() const noexcept { return descriptor_; }

private:
    std::filesystem::path name_;
    file_descriptor descriptor_;
};

/// The files that survive a loss of power, behind an interface, so that tests can simulate that
/// loss at any call. Thread-safe for calls about different files.
class disk {
public:
    enum class mode {
        create, ///< a new file, readable as its folder is; throws io_error if there is
                ///< one
        write,  ///< an existing one
        read,
    };

    virtual ~disk() = default;

    /// Opens a file in a private folder; throws access_error as private_folder does.
    [[nodiscard]] virtual std::unique_ptr<disk_file> open(const std::filesystem::path& file,
                                                          mode how) = 0;
    [[nodiscard]] virtual bool exists(const std::filesystem::path& file) = 0;
    /// The names of the entries of `folder`, in no order; none when it does not exist.
    [[nodiscard]] virtual std::vector<std::string>
    names_in(const std::filesystem::path& folder) = 0;
    /// Renames a file, replacing a file of that name. On storage after sync_folder.
    virtual void rename(const std::filesystem::path& from, const std::filesystem::path& to) = 0;
    /// Removes a file if it exists. On storage after sync_folder.
    virtual void remove(const std::filesystem::path& file) = 0;
    /// Creates a folder if missing, readable as its parent is.
    virtual void make_folder(const std::filesystem::path& folder) = 0;
    /// Waits until the entries of `folder` are on storage.
    virtual void sync_folder(const std::filesystem::path& folder) = 0;

    /// Waits until the whole file system of `folder` is on storage.
    virtual void sync_file_system(const std::filesystem::path& folder) = 0;

    /// The operating system's disk.
    [[nodiscard]] static disk& of_system() noexcept;
};

} // namespace chainbase
