#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace chainbase {

/// @name Amounts in people's units
/// @{
/// "512 B", "4.4 MiB".
[[nodiscard]] std::string bytes_in_words(std::uint64_t bytes);
/// "83 ns", "1.4 ms", "12.5 s", "33 min", "2.5 h".
[[nodiscard]] std::string duration_in_words(double seconds);
/// @}

/// Decimal digits in groups of three: 1,234,567.
[[nodiscard]] std::string grouped(std::uint64_t number);

/// `part` of `whole` in percent; 0 when `whole` is 0.
[[nodiscard]] double percent_of(std::uint64_t part, std::uint64_t whole) noexcept;

/// A bar of `columns` columns, filled to a share in [0, 1]. With `is_unicode` in eighths of a
/// column, else in '#' and '.'.
[[nodiscard]] std::string bar_of(double share, std::size_t columns, bool is_unicode);

/// A table for the terminal: the first column is text, aligned left; other columns are figures,
/// aligned right, unless is_text() was called. Columns are as wide as needed.
class text_table {
public:
    explicit text_table(std::vector<std::string> titles) : rows_{std::move(titles)} {}

    /// Adds a row; missing cells stay empty.
    void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
    /// Aligns a column left.
    void is_text(std::size_t column) { texts_.insert(column); }
    /// A line of dashes before the next row.
    void rule() { rules_.push_back(rows_.size()); }

    [[nodiscard]] std::string text() const;
    /// For printing a long table in parts: returns the rows added since the last part, the first
    /// one with the titles. A column is as wide as in any part so far. Requires that rule() was not
    /// called.
    [[nodiscard]] std::string next_part();

private:
    [[nodiscard]] std::vector<std::size_t> widths() const;
    [[nodiscard]] std::string line_of(const std::vector<std::string>& cells,
                                      const std::vector<std::size_t>& widths) const;

    std::vector<std::vector<std::string>> rows_;
    std::vector<std::size_t> rules_; ///< before these rows
    std::set<std::size_t> texts_{0}; ///< columns
    std::vector<std::size_t> kept_;  ///< widths of earlier parts; none before the first
};

} // namespace chainbase
