#pragma once

#include <pool_allocator/file_descriptor.hpp>
#include <pool_allocator/file_error.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace chainbase {

/// Throws out_of_space_error when this process may not make files of so many bytes: the kernel
/// would end it.
void require_file_limit(const std::filesystem::path& file, std::uint64_t bytes);

/// The whole content of `file`, of a private folder. Throws access_error, io_error.
[[nodiscard]] std::string read_file(const std::filesystem::path& file);

/// Replaces `file`, of a private folder, by `content` in one step that a crash cannot split, and
/// waits until it is on storage. Throws access_error, io_error, out_of_space_error; then the file
/// is whole, the old one or the new.
void replace_file(const std::filesystem::path& file, std::string_view content);

/// Gives what is complete under the name `made`, a file or a folder, its final name `target`, never
/// over something that appeared meanwhile, and waits until the name is on storage. Returns false,
/// with nothing done, when something has the name. Throws io_error, out_of_space_error.
///
/// The way to make something that nobody sees by half: under another name in the same folder, its
/// content synced, then this (or, to replace a file, replace_file()).
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

/// Waits until the entries of `folder` are on storage. Throws io_error.
void sync_folder(const std::filesystem::path& folder);

/// An exclusive lock on a file, released by the kernel when its holder dies (an open file
/// description lock, so it also holds between two users in one process).
class file_lock {
public:
    /// Takes the lock on `file`, creating the file if `create`. Throws locked_error naming the
    /// process that announced itself, access_error, io_error.
    file_lock(const std::filesystem::path& file, bool create);
    file_lock(const file_lock&) = delete;
    file_lock& operator=(const file_lock&) = delete;

    /// Writes this process's number into the file, for the message of a second writer.
    void announce() noexcept;

    /// Whether someone holds the lock on `file` at this moment.
    [[nodiscard]] static bool is_held(const std::filesystem::path& file);

private:
    file_descriptor descriptor_;
};

} // namespace chainbase
