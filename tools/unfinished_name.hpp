#pragma once

#include <filesystem>

namespace chainbase {

/// Throws usage_error when something of that name exists.
void require_free(const std::filesystem::path& path);

/// Renames what was made under a name of its own, file or folder, never over something that
/// appeared while the work went on: throws usage_error then, and io_error when the system refuses.
void give_final_name(const std::filesystem::path& temporary, const std::filesystem::path& path);

/// A new name is on the device when its folder is. Throws io_error.
void sync_folder_of(const std::filesystem::path& path);

/// What is made for `path` is called so until it is complete: `<path>.unfinished`.
[[nodiscard]] std::filesystem::path unfinished_path(std::filesystem::path path);

/// A file is made under a name of its own (`<path>.unfinished`) and gets its real one when it is
/// complete: who interrupts the work finds no half of a file. Not thread-safe.
class unfinished_name {
public:
    /// Throws usage_error when `path` exists; a leftover of interrupted work is removed.
    explicit unfinished_name(std::filesystem::path path);
    unfinished_name(const unfinished_name&) = delete;
    unfinished_name& operator=(const unfinished_name&) = delete;
    /// Removes what did not become complete.
    ~unfinished_name();

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    /// Where the file is made.
    [[nodiscard]] const std::filesystem::path& temporary() const noexcept { return temporary_; }

    /// Gives the file, which is closed and on the device, its name, and puts that on the device
    /// too. Throws usage_error when a file of that name appeared meanwhile; it stays as it is.
    void give();

private:
    std::filesystem::path path_;
    std::filesystem::path temporary_;
};

} // namespace chainbase
