#pragma once

#include <tools/inspect/top/lock_watch.hpp>
#include <tools/inspect/top/sortable_table.hpp>
#include <tools/inspect/top/top_sample.hpp>

#include <array>
#include <cstddef>

namespace chainbase::inspect {

/// The tables of the dashboard, of which one is shown at a time.
enum class view { memory, latencies, locks, archive, checkpoints };

inline constexpr std::array<const char*, 5> view_names = {"memory", "latencies", "locks", "archive",
                                                          "checkpoints"};

/// What a table is made of.
struct view_content {
    const top_sample& sample;
    const lock_watch& locks;
    bool is_unicode = true; ///< bars may be drawn with blocks
};

/// The rows in the order in which the state has them.
[[nodiscard]] sortable_table table_of(view which, const view_content& content);

/// How a table is sorted unless somebody wants it otherwise.
[[nodiscard]] sortable_table::order usual_order(view which);

/// Why a table has no rows, or what is to be known of those that it has; may be empty.
[[nodiscard]] std::string note_of(view which, const view_content& content);

} // namespace chainbase::inspect
