#pragma once

#include <chainbase/unfinished_name.hpp>
#include <pool_allocator/file_descriptor.hpp>
#include <tools/driver/block_log_tools/log_making.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::driver {

/// The lock of a folder, which leaves nothing in it: the kernel releases it when its holder dies.
/// Not thread-safe.
class folder_lock {
public:
    /// Throws locked_error when another one has it, and io_error.
    explicit folder_lock(const std::filesystem::path& folder);

    /// Whether the folder has this name, and none that took its place.
    [[nodiscard]] bool is_of(const std::filesystem::path& path) const;

private:
    file_descriptor descriptor_;
};

/// A folder of block logs under a name of its own (`<path>.unfinished`) that gets its real name
/// when all of them are complete: who interrupts its making finds either all pieces or none. Not
/// thread-safe.
class unfinished_folder {
public:
    /// Throws usage_error when `path` exists, locked_error when another call is making it, io_error
    /// when the folder cannot be made. A leftover of an interrupted call is replaced, unless it
    /// holds what such a call does not make.
    explicit unfinished_folder(std::filesystem::path path);

    /// Where the log whose first block is `first` is to be made: names sort as the blocks do.
    [[nodiscard]] std::filesystem::path piece(std::uint64_t first) const;

    /// Gives the folder its name, on the device. Throws as unfinished_name.
    void finish() { name_.finish(); }

private:
    std::optional<folder_lock> lock_; ///< of name_.path()
    unfinished_name name_;            ///< removes what did not become complete
};

/// A new folder of block logs, each named after its first block. The folder appears when all of
/// them are complete. Not thread-safe.
class log_pieces {
public:
    /// Throws as unfinished_folder.
    log_pieces(const std::filesystem::path& folder, std::string chain);

    /// Appends to the piece under way; opens one when there is none. Throws what a writer throws.
    void append(log_record next);
    void append(const block& next);

    /// Completes the piece under way, if there is one.
    void end_piece();

    /// Blocks in the piece under way.
    [[nodiscard]] std::uint64_t count() const noexcept { return piece_ ? piece_->count() : 0; }

    /// Completes everything and tells what was made. Throws as unfinished_folder.
    [[nodiscard]] std::vector<made_log> finish();

private:
    unfinished_log& open_from(std::uint64_t first);

    std::filesystem::path path_;
    std::string chain_;
    unfinished_folder folder_;
    std::unique_ptr<unfinished_log> piece_; // before folder_ goes, so that it is closed by then
    std::vector<made_log> made_;
};

} // namespace chainbase::driver
