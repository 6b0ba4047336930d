#pragma once

#include <chainbase/fixed_string.hpp>
#include <tools/driver/import/zstd_lines.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase {

/// The rows of a zstd-compressed table of comma-separated fields without quotes, whose first line
/// names the columns.
///
/// Every function throws format_error "file: line L, column C (name): reason" for what is
/// malformed, and what zstd_lines throws. Columns count from 0 here and from 1 in messages. Not
/// thread-safe.
class csv_table {
public:
    /// Requires the first line to be exactly `columns`.
    csv_table(const std::filesystem::path& path, std::vector<std::string_view> columns);

    /// Goes to the next row; false behind the last.
    [[nodiscard]] bool next();

    /// The field as it stands; valid until `next`.
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
        if (is_empty(column) || text(column).size() > N) fail(column, "is no name");
        return fixed_string<N>(text(column));
    }

    /// Refuses the current row for what is in this column.
    [[noreturn]] void fail(std::size_t column, const std::string& reason) const;

private:
    [[nodiscard]] std::string place() const;
    void split(std::string_view line);

    zstd_lines lines_;
    std::vector<std::string_view> columns_;
    std::vector<std::string_view> fields_;
};

} // namespace chainbase
