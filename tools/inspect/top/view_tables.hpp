#pragma once

#include <archive/statistics.hpp>
#include <tools/inspect/top/figures.hpp>
#include <tools/inspect/top/sortable_table.hpp>
#include <tools/inspect/top/views.hpp>
#include <tools/text_table.hpp>

#include <cstdint>
#include <string>
#include <utility>

/// What the tables of the dashboard are put together of.
namespace chainbase::inspect {

using cell = sortable_table::cell;

/// @name Cells that sort by what they say
/// @{
[[nodiscard]] inline cell text(std::string name) {
    return {std::move(name), std::nullopt};
}

[[nodiscard]] inline cell nothing() {
    return {"-", std::nullopt, text_style::dim};
}

[[nodiscard]] inline cell whole(std::uint64_t number) {
    return {grouped(number), static_cast<double>(number)};
}

[[nodiscard]] inline cell bytes(std::uint64_t number) {
    return {short_bytes(static_cast<double>(number)), static_cast<double>(number)};
}

[[nodiscard]] inline cell duration(double ns) {
    return {short_time(ns), ns};
}
/// What a count gained a second since it was `before`; nothing of one that began anew.
[[nodiscard]] inline cell rate(std::uint64_t now, const std::uint64_t* before, double seconds) {
    if (!before || seconds <= 0 || now < *before) return nothing();
    const double figure = static_cast<double>(now - *before) / seconds;
    return {short_number(figure), figure};
}
/// @}

/// Something of which the archive measures each time that it takes.
struct named_times {
    const char* name;
    archive::times_summary archive::statistics_summary::* times;
};

/// The lookups, by how they end.
inline constexpr named_times lookup_times[] = {
    {"found in memory", &archive::statistics_summary::hits_in_memory},
    {"found in the archive", &archive::statistics_summary::hits_in_archive},
    {"not there", &archive::statistics_summary::misses},
    {"known not to be there", &archive::statistics_summary::known_misses},
};

/// @name The tables
/// @{
[[nodiscard]] sortable_table memory_table(const view_content& content);
[[nodiscard]] sortable_table latency_table(const view_content& content);
[[nodiscard]] sortable_table lock_table(const view_content& content);
[[nodiscard]] sortable_table archive_table(const view_content& content);
[[nodiscard]] sortable_table checkpoint_table(const view_content& content);
/// @}

} // namespace chainbase::inspect
