#include <tools/inspect/top/figures.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace chainbase::inspect {

namespace {

std::string with_sign(double number, std::string size) {
    if (number == 0) return size;
    return (number < 0 ? "-" : "+") + size;
}

} // namespace

std::string short_bytes(double bytes) {
    constexpr const char* units[] = {"KiB", "MiB", "GiB"};
    if (bytes < 1024) return fmt::format("{:.0f} B", bytes);
    std::size_t unit = 0;
    for (bytes /= 1024; bytes >= 1024 && unit + 1 < std::size(units); ++unit)
        bytes /= 1024;
    return fmt::format("{:.1f} {}", bytes, units[unit]);
}

std::string gained_bytes(double bytes) {
    const double size = std::round(std::abs(bytes));
    return with_sign(size == 0 ? 0 : bytes, short_bytes(size));
}

std::string short_time(double nanoseconds) {
    if (nanoseconds < 1e3) return fmt::format("{:.0f} ns", nanoseconds);
    if (nanoseconds < 1e6) return fmt::format("{:.1f} us", nanoseconds / 1e3);
    if (nanoseconds < 1e9) return fmt::format("{:.1f} ms", nanoseconds / 1e6);
    const double seconds = nanoseconds / 1e9;
    if (seconds < 60) return fmt::format("{:.1f} s", seconds);
    if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
    return fmt::format("{:.0f} h", seconds / 3600);
}

std::string short_age(double seconds) {
    return seconds < 1 ? fmt::format("{:.0f} ms", seconds * 1e3) : short_time(seconds * 1e9);
}

std::string short_number(double number) {
    if (number < 9.95) return number == 0 ? "0" : fmt::format("{:.1f}", number);
    return grouped(static_cast<std::uint64_t>(std::round(number)));
}

std::string gained_number(double number) {
    const double size = std::abs(number);
    return size < 0.05 ? "0" : with_sign(number, short_number(size));
}

std::string percent(double part, double whole) {
    return whole == 0 ? "-" : fmt::format("{:.1f} %", 100 * part / whole);
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

std::string sparkline(const std::deque<double>& figures, std::size_t columns, bool is_unicode) {
    constexpr const char* blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    constexpr const char* letters[] = {"_", ".", ".", ":", ":", "|", "|", "#"};
    const std::size_t first = figures.size() - std::min(columns, figures.size());
    double most = 0;
    for (std::size_t each = first; each < figures.size(); ++each)
        most = std::max(most, figures[each]);
    std::string line;
    for (std::size_t each = first; each < figures.size(); ++each) {
        const double share = most > 0 ? figures[each] / most : 0;
        const auto height = static_cast<std::size_t>(std::lround(std::max(0.0, share) * 7));
        line += is_unicode ? blocks[height] : letters[height];
    }
    return line;
}

} // namespace chainbase::inspect
