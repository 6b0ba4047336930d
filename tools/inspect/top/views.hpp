#pragma once

#include <archive/statistics.hpp>
#include <chainbase/locks/process_lock.hpp>
#include <tools/inspect/memory/live_sample.hpp>
#include <tools/inspect/state/named_state.hpp>
#include <tools/text_table.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// Figures in the dashboard's short form, which keeps columns narrow.
namespace chainbase::inspect {

/// "512 B", "4.4 MiB".
[[nodiscard]] std::string short_bytes(double bytes);
/// Signed: "+4.4 MiB", "0 B", "-512 B".
[[nodiscard]] std::string gained_bytes(double bytes);
/// "1,234", "0.4": integers from ten on.
[[nodiscard]] std::string short_number(double number);
/// Signed.
[[nodiscard]] std::string gained_number(double number);
/// "63.2 %"; "-" when the whole is 0.
[[nodiscard]] std::string percent(double part, double whole);

/// The last figures that fit in `columns`, the newest at the right, as bars relative to the largest
/// of them. Figures are not negative.
[[nodiscard]] std::string sparkline(const std::deque<double>& figures, std::size_t columns,
                                    bool is_unicode);

/// Statistics of many samples of a state's locks. A sampler sees no turn begin or end: each sample
/// counts the turns in progress, with their time so far. So long turns are seen more often than
/// short ones, and the longest is a lower bound. Not thread-safe.
class lock_watch {
public:
    /// Of one interval's samples: their number, and how many of them met each condition.
    struct shares {
        std::uint64_t looks = 0;
        std::uint64_t writing = 0;
        std::uint64_t writer_waiting = 0; ///< for readers to finish
        std::uint64_t reading = 0;        ///< at least one reader
        std::uint64_t readers_waiting = 0;
    };

    void add(const lock_report& found) noexcept;
    /// Ends an interval, which last() then returns.
    void end_interval() noexcept;

    [[nodiscard]] const shares& last() const noexcept { return last_; }
    [[nodiscard]] std::uint64_t looks() const noexcept { return looks_; }

    /// @name Turns seen in progress since construction
    /// @{
    archive::latency_histogram write_turns;
    archive::latency_histogram writer_waits;
    archive::latency_histogram read_turns;
    archive::latency_histogram reader_waits;
    /// @}

private:
    std::uint64_t looks_ = 0;
    shares now_;
    shares last_;
};

/// One sample of `top`: that of `serve`, plus checkpoints.
struct top_sample {
    live_sample now;
    std::optional<live_rates> rates; ///< nothing in the first sample of a state
    state_growth growth;
    std::vector<checkpoint_info> checkpoints; ///< newest first
    /// The archive's counters at the sample before, if the same process still counts.
    std::optional<archive::statistics_summary> archive_before;
    double seconds = 0; ///< since the sample before; 0 in the first
};

/// Samples a state repeatedly. Not thread-safe; takes no lock.
class top_sampler {
public:
    explicit top_sampler(std::filesystem::path state) : sampler_(std::move(state)) {}

    /// Throws as live_sampler::take; a later call may succeed, and starts again if another state is
    /// there by then.
    [[nodiscard]] top_sample take();
    [[nodiscard]] const std::filesystem::path& state() const noexcept { return sampler_.state(); }

private:
    void compare(top_sample& to) const;

    live_sampler sampler_;
    growth_meter meter_;
    std::optional<live_sample> last_;
};

/// The meaning of a text; the terminal decides its look.
enum class text_style { plain, title, dim, good, warning, bad, selected };

/// A piece of a line.
struct styled_text {
    std::string text; ///< UTF-8, every character a column wide, no control characters
    text_style style = text_style::plain;
};

using styled_line = std::vector<styled_text>;

/// The columns of a text whose characters take one column each.
[[nodiscard]] std::size_t columns_of(const std::string& text) noexcept;
[[nodiscard]] std::size_t columns_of(const styled_line& line) noexcept;

/// The first columns of a line.
[[nodiscard]] styled_line clipped(const styled_line& line, std::size_t columns);

/// The text of a line, without styles.
[[nodiscard]] std::string plain_text(const styled_line& line);

/// A foreign name as screen text: bytes other than printable ASCII become '?', so that no name
/// moves the cursor, and every character takes one column.
[[nodiscard]] std::string printable(const std::string& name);

/// Rows that can be sorted by any column. The first column is aligned left, as are those marked as
/// text.
class sortable_table {
public:
    struct cell {
        std::string text;
        std::optional<double> figure; ///< to sort by; without one, sorts by the text
        text_style style = text_style::plain;
    };
    struct column {
        std::string title;
        bool is_text = false;
    };
    /// The sort order; no column: as added. Figures begin with the largest, texts with the first,
    /// unless reversed. Cells with neither come last.
    struct order {
        std::optional<std::size_t> column;
        bool is_reversed = false;
    };

    explicit sortable_table(std::vector<column> columns) : columns_(std::move(columns)) {}

    void add(std::vector<cell> row) { rows_.push_back(std::move(row)); }
    [[nodiscard]] std::size_t columns() const noexcept { return columns_.size(); }
    [[nodiscard]] std::size_t rows() const noexcept { return rows_.size(); }

    /// A stable sort.
    void sort(const order& by);
    /// The titles; that of the sorted column is highlighted.
    [[nodiscard]] styled_line heading(const order& by) const;
    /// A row; widths cover all rows, so that nothing moves while scrolling.
    [[nodiscard]] styled_line row(std::size_t number) const;

private:
    [[nodiscard]] std::size_t width(std::size_t column) const;
    [[nodiscard]] std::string aligned(const std::string& text, std::size_t column) const;

    std::vector<column> columns_;
    std::vector<std::vector<cell>> rows_;
};

/// The tables of the dashboard; one is visible at a time.
enum class view { memory, latencies, locks, archive, checkpoints };

inline constexpr std::array<const char*, 5> view_names = {"memory", "latencies", "locks", "archive",
                                                          "checkpoints"};

/// The content of a table.
struct view_content {
    const top_sample& sample;
    const lock_watch& locks;
    bool is_unicode = true; ///< bars may be drawn with blocks
};

/// The rows in the state's order.
[[nodiscard]] sortable_table table_of(view which, const view_content& content);

/// The default order of a table.
[[nodiscard]] sortable_table::order default_order(view which);

/// Why a table has no rows, or a note on them; may be empty.
[[nodiscard]] std::string note_of(view which, const view_content& content);

} // namespace chainbase::inspect
