#include <tools/text_table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

namespace chainbase {

std::string bytes_in_words(std::uint64_t bytes) {
    constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB"};
    if (bytes < 1024) return fmt::format("{} B", bytes);
    double amount = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    for (; amount >= 1024 && unit + 1 < std::size(units); ++unit)
        amount /= 1024;
    return fmt::format("{:.1f} {}", amount, units[unit]);
}

std::string duration_in_words(double seconds) {
    if (seconds <= 0) return "0 s";
    if (seconds < 1e-6) return fmt::format("{:.0f} ns", seconds * 1e9);
    if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
    if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
    if (seconds < 120) {
        const bool is_whole = seconds >= 60 || seconds == std::floor(seconds);
        return fmt::format("{:.{}f} s", seconds, is_whole ? 0 : 1);
    }
    if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
    return fmt::format("{:.1f} h", seconds / 3600);
}

namespace {

constexpr const char* gap = "  ";

} // namespace

std::string grouped(std::uint64_t number) {
    std::string digits = std::to_string(number);
    for (std::size_t end = digits.size(); end > 3; end -= 3)
        digits.insert(end - 3, 1, ',');
    return digits;
}

double percent_of(std::uint64_t part, std::uint64_t whole) noexcept {
    return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string bar_of(double share, std::size_t columns, bool is_unicode) {
    constexpr const char* parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const auto eighths = static_cast<std::size_t>(
        std::lround(std::clamp(share, 0.0, 1.0) * 8 * static_cast<double>(columns)));
    std::string bar;
    for (std::size_t whole = 0; whole < eighths / 8; ++whole)
        bar += is_unicode ? "█" : "#";
    std::size_t filled = eighths / 8;
    if (is_unicode && eighths % 8 != 0) {
        bar += parts[eighths % 8];
        ++filled;
    }
    for (; filled < columns; ++filled)
        bar += is_unicode ? " " : ".";
    return bar;
}

std::string text_table::line_of(const std::vector<std::string>& cells,
                                const std::vector<std::size_t>& widths) const {
    std::string line;
    for (std::size_t c = 0; c < widths.size(); ++c) {
        const std::string cell = c < cells.size() ? cells[c] : "";
        if (c != 0) line += gap;
        line += texts_.contains(c) ? fmt::format("{:<{}}", cell, widths[c])
                                   : fmt::format("{:>{}}", cell, widths[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
}

std::vector<std::size_t> text_table::widths() const {
    std::vector<std::size_t> widths(rows_.front().size());
    for (const auto& row : rows_)
        for (std::size_t c = 0; c < widths.size() && c < row.size(); ++c)
            widths[c] = std::max(widths[c], row[c].size());
    return widths;
}

std::string text_table::text() const {
    const std::vector<std::size_t> columns = widths();
    const std::size_t width = std::accumulate(columns.begin(), columns.end(), std::size_t{0}) +
                              std::string_view(gap).size() * (columns.size() - 1);
    std::string text;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
        if (std::find(rules_.begin(), rules_.end(), r) != rules_.end())
            text += std::string(width, '-') + "\n";
        text += line_of(rows_[r], columns);
    }
    return text;
}

std::string text_table::next_part() {
    std::size_t row = kept_.empty() ? 0 : 1;
    std::vector<std::size_t> columns = widths();
    for (std::size_t c = 0; c < kept_.size(); ++c)
        columns[c] = std::max(columns[c], kept_[c]);
    kept_ = std::move(columns);
    std::string text;
    for (; row < rows_.size(); ++row)
        text += line_of(rows_[row], kept_);
    rows_.resize(1);
    return text;
}

} // namespace chainbase
