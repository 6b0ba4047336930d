#pragma once

#include <tools/inspect/top/styled_text.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// Rows that can be put in the order of any column. The first column is aligned left, as are those
/// that are said to be text.
class sortable_table {
public:
    struct cell {
        std::string text;
        std::optional<double> figure; ///< to sort by; a cell without sorts by its text
        text_style style = text_style::plain;
    };
    struct column {
        std::string title;
        bool is_text = false;
    };
    /// In which order; no column: as they were added. Figures begin with the largest, texts with
    /// the first, unless reversed. Cells with neither come last.
    struct order {
        std::optional<std::size_t> column;
        bool is_reversed = false;
    };

    explicit sortable_table(std::vector<column> columns) : columns_(std::move(columns)) {}

    void add(std::vector<cell> row) { rows_.push_back(std::move(row)); }
    [[nodiscard]] std::size_t columns() const noexcept { return columns_.size(); }
    [[nodiscard]] std::size_t rows() const noexcept { return rows_.size(); }

    /// Equal rows stay in the order in which they were added.
    void sort(const order& by);
    /// The titles, of which that of the sorted column stands out.
    [[nodiscard]] styled_line heading(const order& by) const;
    /// A row; widths are those of all rows, so that nothing moves while it is scrolled.
    [[nodiscard]] styled_line row(std::size_t number) const;

private:
    [[nodiscard]] std::size_t width(std::size_t column) const;
    [[nodiscard]] std::string aligned(const std::string& text, std::size_t column) const;

    std::vector<column> columns_;
    std::vector<std::vector<cell>> rows_;
};

} // namespace chainbase::inspect
