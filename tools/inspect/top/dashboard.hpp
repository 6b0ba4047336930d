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

/// What somebody at the terminal wants.
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
    other,  ///< nothing that has a name: it only leads back from the help
    view_1, ///< and on, as many as there are
    view_2,
    view_3,
    view_4,
    view_5,
};

/// What is on the screen of `top`, and what keys do to it: without a terminal, and without a look
/// at any state. Not thread-safe.
///
///     title, condition, rates, history, memory, locks, archive, checkpoint     always
///     the names of the tables
///     one table: its titles, as many rows as there is room for, a note
///     the keys
class dashboard {
public:
    /// What is smaller than this has no room for it.
    static constexpr std::size_t least_columns = 60;
    static constexpr std::size_t least_lines = 14;

    dashboard(std::string state, std::chrono::milliseconds interval, bool is_unicode);

    /// A new sample.
    void add(top_sample sample);
    /// There was none: why the state cannot be read now. What was seen before stays in sight.
    void add_failure(std::string why);
    /// A look at the locks between two samples.
    void look_at(const lock_report& found) noexcept { watch_.add(found); }

    void press(key_action what);
    [[nodiscard]] bool is_over() const noexcept { return is_over_; }
    [[nodiscard]] bool is_paused() const noexcept { return is_paused_; }
    [[nodiscard]] std::chrono::milliseconds interval() const noexcept { return interval_; }

    /// The screen, a line for each of its lines at most, each as wide at most.
    [[nodiscard]] std::vector<styled_line> screen(std::size_t columns, std::size_t lines);

private:
    [[nodiscard]] view_content content() const { return {*sample_, watch_, is_unicode_}; }
    [[nodiscard]] styled_line title(std::size_t columns) const;
    [[nodiscard]] styled_line tabs() const;
    [[nodiscard]] styled_line keys() const;
    [[nodiscard]] std::vector<styled_line> help() const;
    [[nodiscard]] std::vector<styled_line> head(std::size_t columns) const;
    [[nodiscard]] std::vector<styled_line> table(std::size_t lines);
    /// Whether that is what the command does.
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
    std::optional<top_sample> sample_; ///< the last one
    std::string failure_;              ///< since then; empty: it is of now
    lock_watch watch_;
    std::deque<double> operations_; ///< a second, sample by sample
    view view_ = view::memory;
    std::array<sortable_table::order, view_names.size()> orders_;
    std::size_t first_row_ = 0;
    std::size_t rows_in_sight_ = 1;
};

} // namespace chainbase::inspect
