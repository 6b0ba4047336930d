#pragma once

#include <pool_allocator/file_descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace chainbase {

/// An open file of a disk. What was written is on storage after sync(), and only then: a crash
/// before may lose it, tear it, or bring it there in another order.
///
/// All calls throw io_error, and where they need room out_of_space_error, naming file and bytes.
class disk_file {
public:
    virtual ~disk_file() = default;

    /// Stores `data` at `offset`, beyond the end, too.
    virtual void write(std::uint64_t offset, std::span<const std::byte> data) = 0;
    /// Reads what is there, which is less than asked for at the file's end. Returns how much.
    [[nodiscard]] virtual std::size_t read(std::uint64_t offset,
                                           std::span<std::byte> into) const = 0;
    /// Waits until content and length are on storage. After it threw, what was written since the
    /// last one that did not may be lost, and no other call tells: it is to be written again.
    virtual void sync() = 0;
    /// Makes sure that writing to [offset, offset + length) finds room.
    virtual void reserve(std::uint64_t offset, std::uint64_t length) = 0;
    /// Cuts the file, or lengthens it by zeros.
    virtual void resize(std::uint64_t bytes) = 0;
    [[nodiscard]] virtual std::uint64_t bytes() const = 0;
};

/// A file of the operating system, which somebody has opened. What is refused is told with file,
/// operation, offset and bytes.
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

/// The files that promises about a loss of power rest on, behind an interface, so that a test can
/// lose power at any call. Thread-safe as far as calls about different files go.
class disk {
public:
    enum class mode {
        create, ///< a new file, for those who may look at its folder; throws io_error if there is
                ///< one
        write,  ///< an existing one
        read,
    };

    virtual ~disk() = default;

    /// In a private folder: throws access_error as that does.
    [[nodiscard]] virtual std::unique_ptr<disk_file> open(const std::filesystem::path& file,
                                                          mode how) = 0;
    [[nodiscard]] virtual bool exists(const std::filesystem::path& file) = 0;
    /// The names of what is in `folder`, in no order; none when it is not there.
    [[nodiscard]] virtual std::vector<std::string>
    names_in(const std::filesystem::path& folder) = 0;
    /// Gives a file another name, replacing what had it. On storage after sync_folder.
    virtual void rename(const std::filesystem::path& from, const std::filesystem::path& to) = 0;
    /// Removes a file, if it is there. On storage after sync_folder.
    virtual void remove(const std::filesystem::path& file) = 0;
    /// Makes a folder for those who may look at the one it is in, if it is not there.
    virtual void make_folder(const std::filesystem::path& folder) = 0;
    /// Waits until the entries of `folder` are on storage.
    virtual void sync_folder(const std::filesystem::path& folder) = 0;

    /// Waits until everything of the file system that `folder` is in is on storage.
    virtual void sync_file_system(const std::filesystem::path& folder) = 0;

    /// The one of the operating system.
    [[nodiscard]] static disk& of_system() noexcept;
};

} // namespace chainbase
