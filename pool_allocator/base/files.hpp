#pragma once

#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_descriptor.hpp>
#include <pool_allocator/base/file_error.hpp>
#include <pool_allocator/base/process_of_origin.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase {

/// Throws out_of_space_error when `bytes` exceeds this process's limit on file sizes: writing
/// beyond it would kill the process (SIGXFSZ).
void require_file_limit(const std::filesystem::path& file, std::uint64_t bytes);

/// Reads from `offset` on until `into` is full or the file ends. Returns how many bytes that were.
/// Throws io_error naming `name`.
[[nodiscard]] std::size_t read_at(const file_descriptor& file, const std::filesystem::path& name,
                                  std::uint64_t offset, std::span<std::byte> into);

/// Writes all of `data` at `offset`. Throws io_error, out_of_space_error naming `name`, bytes and
/// offset; the file may then have any part of `data`, but nothing of it if the limit on file sizes
/// forbids it.
void write_at(const file_descriptor& file, const std::filesystem::path& name, std::uint64_t offset,
              std::span<const std::byte> data);

/// Whether this name still refers to the open file or folder, and not to one that replaced it.
[[nodiscard]] bool is_at(const file_descriptor& file, const std::filesystem::path& name) noexcept;

/// The path without a slash at its end, which would make the kernel follow a link; "." if empty.
[[nodiscard]] std::filesystem::path without_slash(std::filesystem::path path);

/// The whole content of `file`, of a private folder. Throws access_error, io_error.
[[nodiscard]] std::string read_file(const std::filesystem::path& file);

/// Replaces `file`, of a private folder, by `content` in one step that a crash cannot split, and
/// waits until it is on storage. Throws access_error, io_error, out_of_space_error; then the file
/// is whole, the old one or the new.
void replace_file(const std::filesystem::path& file, std::string_view content);

/// The error to throw when the name of something new is taken.
[[nodiscard]] usage_error exists_already(const std::filesystem::path& path);

/// Renames a file or folder to `target`, never replacing what has that name. Returns false, with
/// nothing done, when the name is taken. On storage after sync_folder(). Throws io_error,
/// out_of_space_error. To create something new use unfinished_name.hpp.
[[nodiscard]] bool rename_new(const std::filesystem::path& made,
                              const std::filesystem::path& target);

/// Exchanges two names in one step. Returns false, with nothing done, where the file system cannot.
/// Throws io_error.
[[nodiscard]] bool exchange_names(const std::filesystem::path& a, const std::filesystem::path& b);

/// Replaces the content of `file`, of a private folder, which stays the same file, and waits until
/// it is on storage. Throws as replace_file does; after an exception or a crash the file may be
/// torn.
void overwrite_file(const std::filesystem::path& file, std::string_view content);

/// Creates `folder`, an absolute path, and its missing parents, and waits until their names are on
/// storage. Throws std::filesystem::filesystem_error, io_error.
void make_folders(const std::filesystem::path& folder);

/// Waits until the entries of `folder` are on storage; an empty path, as parent_path() returns for
/// a plain name, means the current folder. Throws io_error.
void sync_folder(const std::filesystem::path& folder);

/// @name Folders
/// These replace the C++ library's: its directory_iterator, which remove_all uses, allocates in a
/// noexcept function and so ends the process when memory is short.
/// @{
/// The names of the entries of `folder`, in no order. Throws io_error.
[[nodiscard]] std::vector<std::string> names_in(const std::filesystem::path& folder);

/// Removes the file or folder `name` with all its content, without following links. Does nothing if
/// it does not exist. Throws io_error.
void remove_tree(const std::filesystem::path& name);

/// As remove_tree(), as far as possible; ignores errors.
void try_to_remove_tree(const std::filesystem::path& name) noexcept;
/// @}

/// An exclusive lock on a file, released by the kernel when its holder dies (an open file
/// description lock, so it also holds between two users in one process). Forks share it: it is
/// released with the object in the process that took it, or when that process and all of its forks
/// have ended.
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
    /// As is_held(), for an open file; false for one that could not be opened.
    [[nodiscard]] static bool is_held(const file_descriptor& file) noexcept;

private:
    process_of_origin origin_;
    file_descriptor descriptor_;
};

} // namespace chainbase
