#pragma once

#include <archive/statistics.hpp>
#include <chainbase/lock/process_lock.hpp>
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

/// Figures as the dashboard shows them: short, so that columns stay narrow.
namespace chainbase::inspect {

/// "512 B", "4.4 MiB".
[[nodiscard]] std::string short_bytes(double bytes);
/// With its sign: "+4.4 MiB", "0 B", "-512 B".
[[nodiscard]] std::string gained_bytes(double bytes);
/// "850 ns", "12.3 us", "4.5 ms", "2.1 s", "3 min", "5 h".
[[nodiscard]] std::string short_time(double nanoseconds);
/// Of a lock's holder or waiter, whose clock goes on by the kernel's tick: "0 ms", "12 ms", "2.1
/// s".
[[nodiscard]] std::string short_age(double seconds);
/// "1,234", "0.4": whole numbers from ten on.
[[nodiscard]] std::string short_number(double number);
/// With its sign.
[[nodiscard]] std::string gained_number(double number);
/// "63.2 %"; "-" of nothing.
[[nodiscard]] std::string percent(double part, double whole);

/// The last figures that fit into `columns`, the newest at the right, as columns of a height that
/// is relative to the largest of them. Figures are not negative.
[[nodiscard]] std::string sparkline(const std::deque<double>& figures, std::size_t columns,
                                    bool is_unicode);

/// What many looks at the locks of a state came to. Who looks from outside sees no turn begin or
/// end: at each look those count that are under way, with the time that they have taken so far. So
/// long turns are seen more often than short ones, and the longest is a lower bound. Not
/// thread-safe.
class lock_watch {
public:
    /// Of the looks of one interval: how many, and in how many of them it was so.
    struct shares {
        std::uint64_t looks = 0;
        std::uint64_t writing = 0;
        std::uint64_t writer_waiting = 0; ///< for readers to leave
        std::uint64_t reading = 0;        ///< at least one reader
        std::uint64_t readers_waiting = 0;
    };

    void add(const lock_report& found) noexcept;
    /// Ends an interval, which last() tells of from then on.
    void end_interval() noexcept;

    [[nodiscard]] const shares& last() const noexcept { return last_; }
    [[nodiscard]] std::uint64_t looks() const noexcept { return looks_; }

    /// @name What was seen under way since this was made
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

/// What `top` knows of one moment: what `serve` does, and the checkpoints.
struct top_sample {
    live_sample now;
    std::optional<live_rates> rates; ///< nothing of the first sample of a state
    state_growth growth;
    std::vector<checkpoint_info> checkpoints; ///< the newest first
    /// What the archive had counted at the sample before, if the same process still counts.
    std::optional<archive::statistics_summary> archive_before;
    double seconds = 0; ///< since the sample before; 0 of the first
};

/// Takes one sample of a state after the other. Not thread-safe; takes no lock.
class top_sampler {
public:
    explicit top_sampler(std::filesystem::path state) : sampler_(std::move(state)) {}

    /// Throws what live_sampler::take throws; another call may succeed after that, and begins anew
    /// if another state is there by then.
    [[nodiscard]] top_sample take();
    [[nodiscard]] const std::filesystem::path& state() const noexcept { return sampler_.state(); }

private:
    void compare(top_sample& to) const;

    live_sampler sampler_;
    growth_meter meter_;
    std::optional<live_sample> last_;
};

/// What a piece of text means; the terminal decides what it looks like.
enum class text_style { plain, title, dim, good, warning, bad, selected };

/// A piece of a line.
struct styled_text {
    std::string text; ///< UTF-8, every character a column wide, no control characters
    text_style style = text_style::plain;
};

using styled_line = std::vector<styled_text>;

/// How many columns a text takes on the screen, if every character takes one.
[[nodiscard]] std::size_t columns_of(const std::string& text) noexcept;
[[nodiscard]] std::size_t columns_of(const styled_line& line) noexcept;

/// The first columns of it.
[[nodiscard]] styled_line clipped(const styled_line& line, std::size_t columns);

/// The line without its styles.
[[nodiscard]] std::string plain_text(const styled_line& line);

/// What somebody else named, as text for a screen: whatever is not printable ASCII becomes '?', so
/// that no name moves the cursor, and every character takes a column.
[[nodiscard]] std::string printable(const std::string& name);

/// Rows that can be put in the order of any column. The first column is aligned left, as are those
/// that are said to be text.
class sortable_table {
public:
    struct cell {
        std::string text;
        std::optional<double> figure; ///< to sort by; a cell without sorts by its text
        text_style style = text_style::plain;
    };
    struct column {
        std::string title;
        bool is_text = false;
    };
    /// In which order; no column: as they were added. Figures begin with the largest, texts with
    /// the first, unless reversed. Cells with neither come last.
    struct order {
        std::optional<std::size_t> column;
        bool is_reversed = false;
    };

    explicit sortable_table(std::vector<column> columns) : columns_(std::move(columns)) {}

    void add(std::vector<cell> row) { rows_.push_back(std::move(row)); }
    [[nodiscard]] std::size_t columns() const noexcept { return columns_.size(); }
    [[nodiscard]] std::size_t rows() const noexcept { return rows_.size(); }

    /// Equal rows stay in the order in which they were added.
    void sort(const order& by);
    /// The titles, of which that of the sorted column stands out.
    [[nodiscard]] styled_line heading(const order& by) const;
    /// A row; widths are those of all rows, so that nothing moves while it is scrolled.
    [[nodiscard]] styled_line row(std::size_t number) const;

private:
    [[nodiscard]] std::size_t width(std::size_t column) const;
    [[nodiscard]] std::string aligned(const std::string& text, std::size_t column) const;

    std::vector<column> columns_;
    std::vector<std::vector<cell>> rows_;
};

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
