#include <archive/record/bytes.hpp>
#include <tools/inspect/escaped.hpp>
#include <tools/sink/table/table.hpp>
#include <tools/sink/table/text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace chainbase::sink {

namespace {

constexpr std::size_t longest_name = 63; ///< of PostgreSQL: NAMEDATALEN - 1
constexpr std::size_t kept_of_longer = 54;

/// PostgreSQL has columns of these names in every table.
bool is_system_column(std::string_view name) {
    constexpr std::array<std::string_view, 6> all{"tableoid", "ctid", "xmin",
                                                  "xmax",     "cmin", "cmax"};
    return std::ranges::find(all, name) != all.end();
}

/// The first bytes of UTF-8, without a part of a character at the end.
std::string_view cut(std::string_view text, std::size_t bytes) {
    if (text.size() <= bytes) return text;
    while (bytes != 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80)
        --bytes;
    return text.substr(0, bytes);
}

/// `text` between two of `mark`, of which each within it is doubled.
std::string between(char mark, std::string_view text) {
    std::string all(1, mark);
    for (const char c : text) {
        if (c == mark) all += mark;
        all += c;
    }
    all += mark;
    return all;
}

} // namespace

bool is_sql_text(std::string_view text) noexcept {
    return text.find('\0') == std::string_view::npos && inspect::is_utf8(text);
}

std::string sql_text(std::string_view text) {
    constexpr std::string_view replacement = "\xEF\xBF\xBD"; // U+FFFD
    std::string made = inspect::valid_utf8(text);
    for (std::size_t at = made.find('\0'); at != std::string::npos;
         at = made.find('\0', at + replacement.size()))
        made.replace(at, 1, replacement);
    return made;
}

std::string sql_name(std::string_view name) {
    const bool is_one = !name.empty() && name.size() <= longest_name && is_sql_text(name) &&
                        !is_system_column(name);
    if (is_one) return std::string(name);
    const auto hash = static_cast<std::uint32_t>(archive::hash_of(archive::as_bytes(name)));
    return fmt::format("{}~{:08x}", cut(sql_text(name), kept_of_longer), hash);
}

std::string quoted(std::string name) {
    return between('"', name);
}

std::string literal(std::string_view text) {
    return between('\'', is_sql_text(text) ? std::string(text) : sql_text(text));
}

bool has_table(std::string_view type) {
    constexpr std::array<std::string_view, 4> of_life_cycles{".retired", ".filter", ".removed",
                                                             ".withdrawn"};
    constexpr std::array<std::string_view, 3> of_memory_store{"archive.table", "archive.row",
                                                              "archive.key"};
    return !type.starts_with("state_root.") &&
           std::ranges::find(of_memory_store, type) == of_memory_store.end() &&
           std::ranges::none_of(of_life_cycles, [&](std::string_view end) {
               return type.ends_with(end) && type.size() > end.size();
           });
}

} // namespace chainbase::sink
