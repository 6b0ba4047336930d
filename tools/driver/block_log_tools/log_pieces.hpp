#pragma once

#include <tools/driver/block_log_tools/log_copy.hpp>
#include <tools/driver/block_log_tools/unfinished_folder.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::driver {

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
