#pragma once

#include <tools/inspect/top/lock_watch.hpp>
#include <tools/inspect/top/styled_text.hpp>
#include <tools/inspect/top/top_sample.hpp>

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

/// The lines above the tables of the dashboard, each a figure or two of everything.
namespace chainbase::inspect {

/// Closed, being written, left behind; how far the state is.
[[nodiscard]] styled_line condition_line(const top_sample& sample);
[[nodiscard]] styled_line rates_line(const top_sample& sample);
/// The rates of operations of the last samples, as many as fit.
[[nodiscard]] styled_line history_line(const std::deque<double>& operations, std::size_t columns,
                                       bool is_unicode);
[[nodiscard]] styled_line memory_line(const top_sample& sample, bool is_unicode);
[[nodiscard]] styled_line locks_line(const top_sample& sample, const lock_watch& watch);
[[nodiscard]] styled_line archive_line(const top_sample& sample);
[[nodiscard]] styled_line checkpoint_line(const top_sample& sample);

} // namespace chainbase::inspect
