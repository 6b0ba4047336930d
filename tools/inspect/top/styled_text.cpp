#include <tools/inspect/top/styled_text.hpp>

#include <algorithm>

namespace chainbase::inspect {

namespace {

/// Whether a byte begins a character of UTF-8.
bool begins_character(char byte) noexcept {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

/// How many bytes the first characters take.
std::size_t bytes_of(const std::string& text, std::size_t columns) noexcept {
    std::size_t at = 0;
    for (; at < text.size(); ++at)
        if (begins_character(text[at]) && columns-- == 0) break;
    return at;
}

} // namespace

std::size_t columns_of(const std::string& text) noexcept {
    return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::size_t columns_of(const styled_line& line) noexcept {
    std::size_t columns = 0;
    for (const styled_text& each : line)
        columns += columns_of(each.text);
    return columns;
}

styled_line clipped(const styled_line& line, std::size_t columns) {
    styled_line result;
    for (const styled_text& each : line) {
        if (columns == 0) break;
        result.push_back({each.text.substr(0, bytes_of(each.text, columns)), each.style});
        columns -= columns_of(result.back().text);
    }
    return result;
}

std::string plain_text(const styled_line& line) {
    std::string text;
    for (const styled_text& each : line)
        text += each.text;
    return text;
}

std::string printable(const std::string& name) {
    std::string text = name;
    for (char& each : text)
        if (each < ' ' || each > '~') each = '?';
    return text;
}

} // namespace chainbase::inspect
