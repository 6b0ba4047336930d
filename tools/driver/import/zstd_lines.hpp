#pragma once

#include <tools/block_log/file.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct ZSTD_DCtx_s;

namespace chainbase {

/// The lines of a zstd-compressed text file, unpacked as they are read. Not thread-safe.
class zstd_lines {
public:
    /// Throws io_error when the file cannot be opened.
    explicit zstd_lines(const std::filesystem::path& path);

    /// The next line without its end, valid until the next call; nothing behind the last one.
    /// Throws damaged_error when the file is no zstd or truncated, format_error when a line exceeds
    /// 1 MiB.
    [[nodiscard]] std::optional<std::string_view> next();

    /// The number of the line that `next` returned last, from 1 on.
    [[nodiscard]] std::uint64_t line() const noexcept { return line_; }

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return source_.path(); }

private:
    struct context_deleter {
        void operator()(ZSTD_DCtx_s* context) const noexcept;
    };

    bool unpack_more();
    bool fill_input();
    [[nodiscard]] std::string_view take(std::size_t size);

    file source_;
    std::unique_ptr<ZSTD_DCtx_s, context_deleter> context_;
    bytes input_;
    std::size_t input_used_ = 0;
    std::uint64_t file_position_ = 0;
    bool frame_is_open_ = true; // an empty file is a truncated one
    bool output_waits_ = false; // zstd holds more than fitted
    std::string text_;          // unpacked, from the line returned last on
    std::size_t text_used_ = 0;
    std::uint64_t line_ = 0;
};

} // namespace chainbase
