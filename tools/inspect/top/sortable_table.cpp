#include <tools/inspect/top/sortable_table.hpp>

#include <algorithm>

namespace chainbase::inspect {

namespace {

using cell = sortable_table::cell;

/// Whether `a` comes before `b`; what has a figure before what has none.
bool precedes(const cell& a, const cell& b, bool is_reversed) {
    if (a.figure.has_value() != b.figure.has_value()) return a.figure.has_value();
    if (a.figure) return is_reversed ? *a.figure < *b.figure : *a.figure > *b.figure;
    return is_reversed ? a.text > b.text : a.text < b.text;
}

} // namespace

void sortable_table::sort(const order& by) {
    if (!by.column) return;
    std::stable_sort(rows_.begin(), rows_.end(), [&by](const auto& a, const auto& b) {
        return precedes(a[*by.column], b[*by.column], by.is_reversed);
    });
}

std::size_t sortable_table::width(std::size_t column) const {
    std::size_t width = columns_of(columns_[column].title) + 2; // the mark of the order
    for (const auto& row : rows_)
        width = std::max(width, columns_of(row[column].text));
    return width;
}

std::string sortable_table::aligned(const std::string& text, std::size_t column) const {
    const std::size_t wide = width(column);
    const std::size_t own = columns_of(text);
    const std::string space(wide - std::min(own, wide), ' ');
    return column == 0 || columns_[column].is_text ? text + space : space + text;
}

styled_line sortable_table::heading(const order& by) const {
    styled_line line;
    for (std::size_t each = 0; each < columns_.size(); ++each) {
        const bool is_sorted = by.column == each;
        const char* mark = !is_sorted ? "" : by.is_reversed ? " ^" : " v";
        if (each != 0) line.push_back({" ", text_style::title});
        line.push_back({aligned(columns_[each].title + mark, each),
                        is_sorted ? text_style::selected : text_style::title});
    }
    return line;
}

styled_line sortable_table::row(std::size_t number) const {
    styled_line line;
    for (std::size_t each = 0; each < columns_.size(); ++each) {
        const cell& one = rows_[number][each];
        if (each != 0) line.push_back({" ", text_style::plain});
        line.push_back({aligned(one.text, each), one.style});
    }
    return line;
}

} // namespace chainbase::inspect
