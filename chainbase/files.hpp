#pragma once

#include <pool_allocator/error.hpp>
#include <pool_allocator/file_descriptor.hpp>
#include <pool_allocator/file_error.hpp>
#include <pool_allocator/process_of_origin.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace chainbase {

/// Throws out_of_space_error when this process may not make files of so many bytes: the kernel
/// would end it.
void require_file_limit(const std::filesystem::path& file, std::uint64_t bytes);

/// Reads from `offset` on until `into` is full or the file ends. Returns how many bytes that were.
/// Throws io_error naming `name`.
[[nodiscard]] std::size_t read_at(const file_descriptor& file, const std::filesystem::path& name,
                                  std::uint64_t offset, std::span<std::byte> into);

/// Writes all of `data` at `offset`. Throws io_error, out_of_space_error naming `name`, bytes and
/// offset; any part of `data` may be in the file then, but nothing if this process may not make
/// files of so many bytes.
void write_at(const file_descriptor& file, const std::filesystem::path& name, std::uint64_t offset,
              std::span<const std::byte> data);

/// Whether an open file or folder has this name now, and none that took its place.
[[nodiscard]] bool is_at(const file_descriptor& file, const std::filesystem::path& name) noexcept;

/// The whole content of `file`, of a private folder. Throws access_error, io_error.
[[nodiscard]] std::string read_file(const std::filesystem::path& file);

/// Replaces `file`, of a private folder, by `content` in one step that a crash cannot split, and
/// waits until it is on storage. Throws access_error, io_error, out_of_space_error; then the file
/// is whole, the old one or the new.
void replace_file(const std::filesystem::path& file, std::string_view content);

/// What to throw when something has a name that is to be a new one's.
[[nodiscard]] usage_error exists_already(const std::filesystem::path& path);

/// Gives a file or folder the name `target`, never over something that appeared meanwhile. Returns
/// false, with nothing done, when something has that name. On storage after sync_folder(). Throws
/// io_error, out_of_space_error. See unfinished_name.hpp for making something new.
[[nodiscard]] bool rename_new(const std::filesystem::path& made,
                              const std::filesystem::path& target);

/// Takes two names for each other, in one step. Returns false, with nothing done, where the file
/// system cannot. Throws io_error.
[[nodiscard]] bool exchange_names(const std::filesystem::path& a, const std::filesystem::path& b);

/// Replaces the content of `file`, of a private folder, which stays the same file, and waits until
/// it is on storage. Throws as replace_file does; then it is torn, as a crash may leave it, too.
void overwrite_file(const std::filesystem::path& file, std::string_view content);

/// Makes `folder`, an absolute path, and those it lies in, as far as they are not there, and waits
/// until their names are on storage. Throws std::filesystem::filesystem_error, io_error.
void make_folders(const std::filesystem::path& folder);

/// Waits until the entries of `folder` are on storage; without a name, those of the current folder,
/// as parent_path() of a plain name has it. Throws io_error.
void sync_folder(const std::filesystem::path& folder);

/// An exclusive lock on a file, released by the kernel when its holder dies (an open file
/// description lock, so it also holds between two users in one process). Forks share it: it ends
/// with the object in the process that took it, or when that process and all of its forks ended.
class file_lock {
public:
    /// Takes the lock on `file`, creating the file if `create`. Throws locked_error naming the
    /// process that announced itself, access_error, io_error.
    file_lock(const std::filesystem::path& file, bool create);
    ~file_lock();
    file_lock(const file_lock&) = delete;
    file_lock& operator=(const file_lock&) = delete;

    /// Writes this process's number into the file, for the message of a second writer.
    void announce() noexcept;

    /// Whether someone holds the lock on `file` at this moment.
    [[nodiscard]] static bool is_held(const std::filesystem::path& file);
    /// The same of a file that is open, or could not be opened: then nobody has a lock on it.
    [[nodiscard]] static bool is_held(const file_descriptor& file) noexcept;

private:
    process_of_origin origin_;
    file_descriptor descriptor_;
};

} // namespace chainbase
