#pragma once

#include <chainbase/checkpoint/disk.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace chainbase {

/// A file of the operating system that a user named: links are followed, its mode is what the umask
/// leaves of 0644, and what is refused is said with file, operation, offset and reason.
///
/// Throws io_error, and out_of_space_error for a full disk, a quota or a limit of file sizes.
class system_file final : public disk_file {
public:
    /// `flags` as of open(2). Throws usage_error when a new file is to be made and there is one.
    system_file(std::filesystem::path path, int flags);
    system_file(const system_file&) = delete;
    system_file& operator=(const system_file&) = delete;
    ~system_file() override;

    void write(std::uint64_t offset, std::span<const std::byte> data) override;
    [[nodiscard]] std::size_t read(std::uint64_t offset, std::span<std::byte> into) const override;
    void sync() override;
    void reserve(std::uint64_t offset, std::uint64_t length) override;
    void resize(std::uint64_t bytes) override;
    [[nodiscard]] std::uint64_t bytes() const override;

    /// Takes the file's one writer's lock, which the kernel releases when this object goes or the
    /// process dies; throws locked_error when another one has it.
    void lock();
    /// Whether the file has this name now, and none that took its place.
    [[nodiscard]] bool is_at(const std::filesystem::path& path) const noexcept;
    /// Its number in its file system: another file, even with the same name and content, has
    /// another one.
    [[nodiscard]] std::uint64_t inode() const;

private:
    [[noreturn]] void fail(const std::string& operation, int code) const;
    [[noreturn]] void fail_room(std::uint64_t offset, std::size_t asked, int code) const;

    std::filesystem::path path_;
    int descriptor_;
};

} // namespace chainbase
