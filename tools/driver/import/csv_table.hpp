#pragma once

#include <chainbase/fixed_string.hpp>
#include <tools/block_log/file.hpp>
#include <tools/progress.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct ZSTD_DCtx_s;

namespace chainbase {

/// The lines of a zstd-compressed text file, decompressed while reading. Not thread-safe.
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
    /// How far the compressed file is read.
    [[nodiscard]] std::uint64_t position() const noexcept { return file_position_; }
    [[nodiscard]] std::uint64_t size() const { return source_.size(); }

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
    bool frame_is_open_ = true; // an empty file counts as truncated
    bool output_waits_ = false; // zstd holds more output than fitted
    std::string text_;          // decompressed, from the line returned last on
    std::size_t text_used_ = 0;
    std::uint64_t line_ = 0;
};

} // namespace chainbase

namespace chainbase {

/// The rows of a zstd-compressed table of comma-separated fields without quotes. The first line
/// names the columns.
///
/// Every function throws format_error "file: line L, column C (name): reason" for malformed input,
/// and what zstd_lines throws. Columns count from 0 here and from 1 in messages. Not thread-safe.
class csv_table {
public:
    /// Requires the first line to be exactly `columns`.
    csv_table(const std::filesystem::path& path, std::vector<std::string_view> columns);

    /// Goes to the next row; false behind the last.
    [[nodiscard]] bool next();

    /// The unparsed field; valid until `next`.
    [[nodiscard]] std::string_view text(std::size_t column) const { return fields_[column]; }
    [[nodiscard]] bool is_empty(std::size_t column) const { return fields_[column].empty(); }

    /// A decimal number from `least` to `most`.
    [[nodiscard]] std::int64_t number(std::size_t column, std::int64_t least = INT64_MIN,
                                      std::int64_t most = INT64_MAX) const;

    /// A number with at most three decimals and no sign, in thousandths: "0.942" is 942.
    [[nodiscard]] std::int64_t thousandths(std::size_t column) const;

    /// "2016-08-24T19:59:42" (UTC) in Unix seconds.
    [[nodiscard]] std::int64_t time(std::size_t column) const;

    /// A text of 1 to N bytes.
    template <std::size_t N>
    [[nodiscard]] fixed_string<N> name(std::size_t column) const {
        if (is_empty(column) || text(column).size() > N) fail(column, "is not a name");
        return fixed_string<N>(text(column));
    }

    /// Throws format_error for this column of the current row.
    [[noreturn]] void fail(std::size_t column, const std::string& reason) const;

private:
    [[nodiscard]] std::string place() const;
    void split(std::string_view line);

    zstd_lines lines_;
    progress shown_;
    std::vector<std::string_view> columns_;
    std::vector<std::string_view> fields_;
};

} // namespace chainbase
