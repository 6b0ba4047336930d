#pragma once

#include <pool_allocator/base/file_descriptor.hpp>
#include <pool_allocator/base/unfinished_name.hpp>
#include <tools/driver/block_log_tools/log_making.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::driver {

/// The lock of a folder, without a lock file: the kernel releases it when its holder dies. Not
/// thread-safe.
class folder_lock {
public:
    /// Throws locked_error when another process holds it, and io_error.
    explicit folder_lock(const std::filesystem::path& folder);

    /// Whether `path` names this folder now, not a replacement.
    [[nodiscard]] bool is_of(const std::filesystem::path& path) const;

private:
    file_descriptor descriptor_;
};

/// A folder of block logs with a temporary name (`<path>.unfinished`); it gets its real name when
/// all logs are complete, so an interruption leaves all pieces or none. Not thread-safe.
class unfinished_folder {
public:
    /// Throws usage_error when `path` exists, locked_error when another call is making it, io_error
    /// when the folder cannot be made. Replaces the leftover of an interrupted call, unless it
    /// holds files that such a call does not make.
    explicit unfinished_folder(std::filesystem::path path);

    /// The path for a log whose first block is `first`: names sort in block order.
    [[nodiscard]] std::filesystem::path piece(std::uint64_t first) const;

    /// Renames the folder and syncs the name. Throws as unfinished_name.
    void finish() { name_.finish(); }

private:
    std::optional<folder_lock> lock_; ///< of name_.path()
    unfinished_name name_;            ///< removes an incomplete folder
};

/// A new folder of block logs, each named after its first block. The folder appears when all logs
/// are complete. Not thread-safe.
class log_pieces {
public:
    /// Throws as unfinished_folder.
    log_pieces(const std::filesystem::path& folder, std::string chain);

    /// Appends to the current piece; opens one when there is none. Throws what a writer throws.
    void append(log_record next);
    void append(const block& next);

    /// Completes the current piece, if any.
    void end_piece();

    /// Blocks in the current piece.
    [[nodiscard]] std::uint64_t count() const noexcept { return piece_ ? piece_->count() : 0; }

    /// Completes everything and returns the logs made. Throws as unfinished_folder.
    [[nodiscard]] std::vector<made_log> finish();

private:
    unfinished_log& open_from(std::uint64_t first);

    std::filesystem::path path_;
    std::string chain_;
    unfinished_folder folder_;
    // destroyed before folder_, so that it is closed by then
    std::unique_ptr<unfinished_log> piece_;
    std::vector<made_log> made_;
};

} // namespace chainbase::driver
