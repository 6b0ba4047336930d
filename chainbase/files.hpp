#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace chainbase {

/// Throws what the failed system call of this thread stands for, naming it, the file and what to do
/// next: out_of_space_error for a full disk or a used-up quota, else io_error.
[[noreturn]] void throw_file_error(const std::filesystem::path& file, std::string_view what);

/// The whole content of `file`. Throws io_error.
[[nodiscard]] std::string read_file(const std::filesystem::path& file);

/// Replaces `file` by `content` in one step that a crash cannot split, and waits until it is on
/// storage. Throws io_error, out_of_space_error; then the file is whole, the old one or the new.
void replace_file(const std::filesystem::path& file, std::string_view content);

/// Waits until the entries of `folder` are on storage. Throws io_error.
void sync_folder(const std::filesystem::path& folder);

/// An exclusive lock on a file, released by the kernel when its holder dies (an open file
/// description lock, so it also holds between two users in one process).
class file_lock {
public:
    /// Takes the lock on `file`, creating the file if `create`. Throws locked_error naming the
    /// process that announced itself, io_error.
    file_lock(const std::filesystem::path& file, bool create);
    ~file_lock();
    file_lock(const file_lock&) = delete;
    file_lock& operator=(const file_lock&) = delete;

    /// Writes this process's number into the file, for the message of a second writer.
    void announce() noexcept;

    /// Whether someone holds the lock on `file` at this moment.
    [[nodiscard]] static bool is_held(const std::filesystem::path& file);

private:
    int descriptor_;
};

} // namespace chainbase
