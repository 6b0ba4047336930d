#pragma once

#include <tools/driver/block_log_tools/folder_lock.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace chainbase::driver {

/// A folder of block logs under a name of its own (`<path>.unfinished`) that gets its real name
/// when all of them are complete: who interrupts its making finds either all pieces or none. Not
/// thread-safe.
class unfinished_folder {
public:
    /// Throws usage_error when `path` exists, locked_error when another call is making it, io_error
    /// when the folder cannot be made. A leftover of an interrupted call is replaced, unless it
    /// holds what such a call does not make.
    explicit unfinished_folder(std::filesystem::path path);
    unfinished_folder(const unfinished_folder&) = delete;
    unfinished_folder& operator=(const unfinished_folder&) = delete;
    /// Removes what did not become complete.
    ~unfinished_folder();

    /// Where the log whose first block is `first` is to be made: names sort as the blocks do.
    [[nodiscard]] std::filesystem::path piece(std::uint64_t first) const;

    /// Gives the folder its name, on the device. Throws as give_final_name.
    void finish();

private:
    std::filesystem::path path_;
    std::filesystem::path temporary_;
    std::optional<folder_lock> lock_; ///< of temporary_
    bool is_finished_ = false;
};

} // namespace chainbase::driver
