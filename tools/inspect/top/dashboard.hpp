#pragma once

#include <tools/inspect/top/views.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// A command of the user at the terminal.
enum class key_action {
    none,
    quit,
    next_view,
    previous_view,
    next_column,
    previous_column,
    reverse,
    up,
    down,
    page_up,
    page_down,
    first,
    last,
    pause,
    shorter_interval,
    longer_interval,
    help,
    other,  ///< any other key: only closes the help
    view_1, ///< the first of the views
    view_2,
    view_3,
    view_4,
    view_5,
};

/// The screen of `top` and its reactions to keys, without a terminal and without reading a state.
/// Not thread-safe.
///
///     title, state, rates, history, memory, disk, locks (2), archive, checkpoint     always
///     the names of the tables
///     one table: its titles, as many rows as there is room for, a note
///     the keys
class dashboard {
public:
    /// The minimum screen size.
    static constexpr std::size_t min_columns = 60;
    static constexpr std::size_t min_lines = 15;

    dashboard(std::string state, std::chrono::milliseconds interval, bool is_unicode);

    /// A new sample.
    void add(top_sample sample);
    /// Records a failed sample with its reason. The earlier figures stay visible.
    void add_failure(std::string why);
    /// Adds a lock sample between two state samples.
    void look_at(const lock_report& found) noexcept { watch_.add(found); }

    void press(key_action what);
    [[nodiscard]] bool is_over() const noexcept { return is_over_; }
    [[nodiscard]] bool is_paused() const noexcept { return is_paused_; }
    [[nodiscard]] std::chrono::milliseconds interval() const noexcept { return interval_; }

    /// The screen's lines, within its size.
    [[nodiscard]] std::vector<styled_line> screen(std::size_t columns, std::size_t lines);

private:
    [[nodiscard]] view_content content() const { return {*sample_, watch_, is_unicode_}; }
    [[nodiscard]] styled_line title(std::size_t columns) const;
    [[nodiscard]] styled_line tabs() const;
    [[nodiscard]] styled_line keys() const;
    [[nodiscard]] std::vector<styled_line> help() const;
    [[nodiscard]] std::vector<styled_line> head(std::size_t columns) const;
    [[nodiscard]] std::vector<styled_line> table(std::size_t lines);
    /// Whether the command scrolls.
    bool scroll(key_action what);
    void choose_column(bool is_next);
    void choose_interval(bool is_longer);
    void choose_view(std::size_t number);

    std::string state_;
    std::chrono::milliseconds interval_;
    bool is_unicode_;
    bool is_over_ = false;
    bool is_paused_ = false;
    bool is_helping_ = false;
    std::optional<top_sample> sample_; ///< the last successful one
    std::string failure_;              ///< since then; empty: sample_ is current
    lock_watch watch_;
    std::deque<double> operations_; ///< per second, by sample
    view view_ = view::memory;
    std::array<sortable_table::order, view_names.size()> orders_;
    std::size_t first_row_ = 0;
    std::size_t rows_in_sight_ = 1;
};

} // namespace chainbase::inspect
