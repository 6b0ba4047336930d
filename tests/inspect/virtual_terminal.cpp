#include <tests/inspect/virtual_terminal.hpp>

#include <algorithm>
#include <sstream>

namespace chainbase::test {

void virtual_terminal::resize(std::size_t columns, std::size_t lines) {
    columns_ = columns;
    cells_.assign(lines, std::vector<std::string>(columns, " "));
    row_ = column_ = 0;
}

void virtual_terminal::take(std::string_view sent) {
    for (const char byte : sent)
        escape_.empty() ? take_plain(byte) : take_escaped(byte);
}

std::string virtual_terminal::line(std::size_t number) const {
    std::string text;
    for (const std::string& cell : cells_.at(number))
        text += cell;
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
}

std::string virtual_terminal::text() const {
    std::string text;
    for (std::size_t each = 0; each < lines(); ++each)
        text += line(each) + "\n";
    return text;
}

void virtual_terminal::take_plain(char byte) {
    switch (byte) {
    case '\x1b':
        escape_ = byte;
        break;
    case '\r':
        column_ = 0;
        break;
    case '\n':
        line_feed();
        break;
    case '\b':
        column_ -= column_ > 0 ? 1 : 0;
        break;
    case '\t':
        column_ = std::min((column_ / 8 + 1) * 8, columns_ - 1);
        break;
    case '\x0e': // other sets of characters: not looked at
    case '\x0f':
    case '\0':
        break;
    default:
        put(byte);
    }
}

/// A byte that continues a character goes where that began.
void virtual_terminal::put(char byte) {
    const bool continues = (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
    if (continues && column_ > 0) {
        cells_[row_][column_ - 1] += byte;
        return;
    }
    if (column_ == columns_) { // only the character behind the last one wraps
        column_ = 0;
        line_feed();
    }
    cells_[row_][column_++].assign(1, byte);
}

void virtual_terminal::line_feed() {
    if (row_ + 1 < lines()) {
        ++row_;
        return;
    }
    cells_.erase(cells_.begin());
    cells_.emplace_back(columns_, " ");
}

/// ESC ( B, ESC ) 0 and ESC 7, 8, =, >, M; all others begin with ESC [.
void virtual_terminal::take_escaped(char byte) {
    escape_ += byte;
    const char kind = escape_[1];
    if (kind == '(' || kind == ')') {
        if (escape_.size() == 3) escape_.clear();
    } else if (kind != '[') {
        if (kind == 'M') row_ -= row_ > 0 ? 1 : 0;
        if (std::string_view("78=>M").find(kind) == std::string_view::npos)
            unknown_.push_back(escape_);
        escape_.clear();
    } else if (escape_.size() > 2 && byte >= '@' && byte <= '~') {
        carry_out(byte);
        escape_.clear();
    }
}

std::size_t virtual_terminal::number(std::size_t which, std::size_t otherwise) const {
    std::istringstream parts(escape_.substr(2, escape_.size() - 3));
    std::string part;
    for (std::size_t each = 0; each <= which; ++each)
        if (!std::getline(parts, part, ';')) return otherwise;
    return part.empty() || part[0] == '?' ? otherwise : std::stoul(part);
}

void virtual_terminal::move_cursor(char last) {
    const std::size_t by = number(0, 1);
    if (last == 'A') row_ -= std::min(row_, by);
    if (last == 'B') row_ = std::min(row_ + by, lines() - 1);
    if (last == 'C') column_ = std::min(column_ + by, columns_ - 1);
    if (last == 'D') column_ -= std::min(column_, by);
    if (last != 'H') return;
    row_ = std::min(number(0, 1), lines()) - 1;
    column_ = std::min(number(1, 1), columns_) - 1;
}

void virtual_terminal::carry_out(char last) {
    if (std::string_view("ABCDH").find(last) != std::string_view::npos) return move_cursor(last);
    if (std::string_view("mrhl").find(last) != std::string_view::npos) return;
    const std::size_t what = number(0, 0);
    if (last == 'J') return clear_screen(static_cast<unsigned>(what));
    if (last == 'K') return clear_line(what == 0 ? column_ : 0, what == 1 ? column_ + 1 : columns_);
    unknown_.push_back(escape_);
}

void virtual_terminal::clear_line(std::size_t from, std::size_t to) {
    for (std::size_t each = from; each < std::min(to, columns_); ++each)
        cells_[row_][each].assign(1, ' ');
}

void virtual_terminal::clear_screen(unsigned what) {
    for (std::size_t each = 0; each < lines(); ++each)
        if ((each > row_ && what != 1) || (each < row_ && what != 0))
            cells_[each].assign(columns_, " ");
    clear_line(what == 0 ? column_ : 0, what == 1 ? column_ + 1 : columns_);
}

} // namespace chainbase::test
