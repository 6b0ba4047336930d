#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// Decimal digits in groups of three: 1,234,567.
[[nodiscard]] std::string grouped(std::uint64_t number);

/// A table for the terminal: the first column is text, aligned left; the others are figures,
/// aligned right. Columns are as wide as they need to be.
class text_table {
public:
    explicit text_table(std::vector<std::string> titles) : rows_{std::move(titles)} {}

    /// A row; cells that are missing stay empty.
    void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
    /// A line of dashes before the next row.
    void rule() { rules_.push_back(rows_.size()); }

    [[nodiscard]] std::string text() const;

private:
    [[nodiscard]] std::vector<std::size_t> widths() const;

    std::vector<std::vector<std::string>> rows_;
    std::vector<std::size_t> rules_; ///< before these rows
};

} // namespace chainbase::inspect
