#include <tools/inspect/top/dashboard.hpp>
#include <tools/inspect/top/views.hpp>
#include <tools/text_table.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <iterator>
#include <string>
#include <vector>

namespace chainbase::inspect {

namespace {

using doing = lock_report::doing;

styled_line begin(const char* label) {
    return {{fmt::format("{:<12}", label), text_style::dim}};
}

void add(styled_line& to, std::string text, text_style style = text_style::plain) {
    to.push_back({std::move(text), style});
}

std::string rate_text(double figure, const char* of) {
    return fmt::format("{} {}/s", short_number(figure), of);
}

styled_text condition_text(const state_report& state) {
    const std::string writer = printable(state.writer);
    switch (state.condition) {
    case condition::closed:
        return {"closed properly", text_style::plain};
    case condition::writer_running:
        return {fmt::format("writer running, process {}", writer), text_style::good};
    case condition::writer_died:
        return {fmt::format("the last writer died, process {}", writer), text_style::bad};
    }
    return {"unknown", text_style::bad};
}

styled_text writer_text(const lock_report::of_writer& writer) {
    if (!writer.is_alive) return {"no writer", text_style::dim};
    const std::string since = duration_in_words(writer.seconds);
    if (writer.what == doing::idle) return {"writer idle", text_style::plain};
    if (writer.what == doing::inside) return {"writing " + since, text_style::good};
    return {"writer waits " + since, text_style::warning};
}

std::string readers_text(const lock_report& locks) {
    std::size_t reading = 0;
    std::size_t waiting = 0;
    for (const lock_report::of_reader& one : locks.readers) {
        reading += one.what == doing::inside ? 1 : 0;
        waiting += one.what == doing::waiting ? 1 : 0;
    }
    return fmt::format("readers {}: {} inside, {} waiting", locks.readers.size(), reading, waiting);
}

// The lines above the tables of the dashboard: the key figures of every part.

/// The state's condition and revision.
styled_line condition_line(const top_sample& sample) {
    const state_report& state = sample.now.state;
    styled_line line = begin("state");
    line.push_back(condition_text(state));
    add(line, fmt::format("   revision {}, {} to undo", state.revision, grouped(state.sessions)));
    if (!state.consistent) add(line, "   read in an operation", text_style::warning);
    return line;
}

styled_line rates_line(const top_sample& sample) {
    styled_line line = begin("rates");
    if (!sample.rates) {
        add(line, "with the next sample", text_style::dim);
        return line;
    }
    const live_rates& rates = *sample.rates;
    add(line, rate_text(rates.revisions, "revisions") + "   ");
    add(line, rate_text(rates.changes, "changes") + "   ", text_style::title);
    add(line, rate_text(rates.objects, "objects"));
    return line;
}

/// The operation rates of the last samples that fit.
styled_line history_line(const std::deque<double>& operations, std::size_t columns,
                         bool is_unicode) {
    styled_line line = begin("changes/s");
    const double most = operations.empty() ? 0 : *std::ranges::max_element(operations);
    const std::string note = "  most " + short_number(most);
    const std::size_t used = columns_of(line) + note.size();
    if (columns <= used) return line;
    add(line, sparkline(operations, columns - used, is_unicode), text_style::good);
    add(line, note, text_style::dim);
    return line;
}

styled_line memory_line(const top_sample& sample, bool is_unicode) {
    const measured total = sample.now.state.total();
    const double files = static_cast<double>(total.file_bytes);
    const double used =
        static_cast<double>(total.bytes.header + total.bytes.links + total.bytes.values);
    styled_line line = begin("memory");
    add(line, bar_of(files == 0 ? 0 : used / files, 16, is_unicode), text_style::good);
    add(line, fmt::format(" {} of {} in use", short_bytes(used), short_bytes(files)));
    if (sample.growth.seconds > 0)
        add(line, fmt::format(", {}/min", gained_bytes(sample.growth.whole.used_bytes)));
    return line;
}

/// What is not in memory, not on the disk, and what the writer had to do with disks.
styled_line disk_line(const top_sample& sample) {
    styled_line line = begin("disk");
    const auto known = [](const std::optional<std::uint64_t>& bytes) {
        return bytes ? short_bytes(static_cast<double>(*bytes)) : "?";
    };
    const cached_bytes cached = sample.now.state.total().cached;
    add(line, fmt::format("{} missing, {} dirty", known(cached.missing), known(cached.dirty)));
    if (!sample.rates) return line;
    const live_rates& rates = *sample.rates;
    if (const auto faults = rates.major_faults_per_second)
        add(line, "   " + rate_text(*faults, "faults"),
            *faults > 0 ? text_style::warning : text_style::plain);
    if (rates.disk_read_per_second)
        add(line, fmt::format(", read {}/s", short_bytes(*rates.disk_read_per_second)));
    if (rates.disk_written_per_second)
        add(line, fmt::format(", written {}/s", short_bytes(*rates.disk_written_per_second)));
    return line;
}

styled_line locks_line(const top_sample& sample) {
    styled_line line = begin("locks");
    line.push_back(writer_text(sample.now.locks.writer));
    add(line, "   " + readers_text(sample.now.locks));
    return line;
}

/// Shares of the looks at the locks since the sample before.
styled_line lock_shares_line(const lock_watch& watch) {
    styled_line line = begin("lock time");
    const lock_watch::shares& last = watch.last();
    if (last.looks == 0) {
        add(line, "with the next sample", text_style::dim);
        return line;
    }
    const auto share = [&last](std::uint64_t seen) {
        return percent(static_cast<double>(seen), static_cast<double>(last.looks));
    };
    const auto style = [](std::uint64_t waiting) {
        return waiting > 0 ? text_style::warning : text_style::dim;
    };
    add(line, "writer holds it " + share(last.writing));
    add(line, ", writer waits " + share(last.writer_waiting), style(last.writer_waiting));
    add(line, ", readers wait " + share(last.readers_waiting), style(last.readers_waiting));
    return line;
}

styled_line archive_line(const top_sample& sample) {
    styled_line line = begin("archive");
    if (!sample.now.archive) {
        add(line, "none has counted", text_style::dim);
        return line;
    }
    const archive::statistics_summary& all = sample.now.archive->figures;
    const std::uint64_t finds = all.hits_in_archive.count + all.misses.count;
    if (all.failures > 0)
        add(line, fmt::format("{} calls failed   ", grouped(all.failures)), text_style::bad);
    if (sample.rates)
        add(line, rate_text(sample.rates->archive_finds, "lookups") + "   " +
                      rate_text(sample.rates->archive_rows, "rows in") + "   ");
    const double found = static_cast<double>(all.hits_in_archive.count);
    if (finds == 0)
        add(line, "no lookups there yet", text_style::dim);
    else
        add(line,
            fmt::format("{} found, p99 {}", percent(found, static_cast<double>(finds)),
                        duration_in_words(static_cast<double>(all.hits_in_archive.p99_ns) / 1e9)));
    return line;
}

styled_line checkpoint_line(const top_sample& sample) {
    styled_line line = begin("checkpoint");
    if (sample.checkpoints.empty()) {
        add(line, "none", text_style::dim);
        return line;
    }
    const auto now = std::chrono::system_clock::to_time_t(sample.now.time);
    const checkpoint_info& newest = sample.checkpoints.front();
    const auto age = std::max<std::int64_t>(0, now - newest.time);
    add(line,
        fmt::format("{} old, {} revisions behind, {}", duration_in_words(static_cast<double>(age)),
                    grouped(static_cast<std::uint64_t>(
                        std::max<std::int64_t>(0, sample.now.state.revision - newest.revision))),
                    short_bytes(static_cast<double>(newest.bytes))));
    if (newest.redo_log) add(line, ", redo log");
    return line;
}

using std::chrono::milliseconds;

constexpr milliseconds intervals[] = {
    milliseconds(100),    milliseconds(200),    milliseconds(500),
    milliseconds(1'000),  milliseconds(2'000),  milliseconds(5'000),
    milliseconds(10'000), milliseconds(30'000), milliseconds(60'000)};

/// Enough for the widest screen.
constexpr std::size_t kept_rates = 1'000;

std::string in_seconds(milliseconds interval) {
    return fmt::format("{} s", static_cast<double>(interval.count()) / 1000);
}

} // namespace

dashboard::dashboard(std::string state, milliseconds interval, bool is_unicode)
    : state_(std::move(state)), interval_(interval), is_unicode_(is_unicode) {
    for (std::size_t each = 0; each < orders_.size(); ++each)
        orders_[each] = default_order(static_cast<view>(each));
}

void dashboard::add(top_sample sample) {
    if (sample.rates)
        operations_.push_back(sample.rates->changes);
    else
        operations_.clear();
    if (operations_.size() > kept_rates) operations_.pop_front();
    watch_.end_interval();
    sample_ = std::move(sample);
    failure_.clear();
}

void dashboard::add_failure(std::string why) {
    failure_ = printable(why);
}

// --- keys ----------------------------------------------------------------------------------------

void dashboard::choose_view(std::size_t number) {
    view_ = static_cast<view>(number % view_names.size());
    first_row_ = 0;
}

/// Behind the last column comes "none": the state's own order.
void dashboard::choose_column(bool is_next) {
    if (!sample_) return;
    const std::size_t columns = table_of(view_, content()).columns();
    auto& order = orders_[static_cast<std::size_t>(view_)];
    const std::size_t now = order.column.value_or(columns);
    const std::size_t then = (now + (is_next ? 1 : columns)) % (columns + 1);
    order = {};
    if (then < columns) order.column = then;
}

void dashboard::choose_interval(bool is_longer) {
    if (is_longer) {
        const auto next = std::ranges::upper_bound(intervals, interval_);
        if (next != std::end(intervals)) interval_ = *next;
        return;
    }
    const auto here = std::ranges::lower_bound(intervals, interval_);
    if (here != std::begin(intervals)) interval_ = *std::prev(here);
}

/// screen() limits it to the end.
bool dashboard::scroll(key_action what) {
    switch (what) {
    case key_action::up:
        first_row_ -= std::min<std::size_t>(first_row_, 1);
        break;
    case key_action::down:
        ++first_row_;
        break;
    case key_action::page_up:
        first_row_ -= std::min(first_row_, rows_in_sight_);
        break;
    case key_action::page_down:
        first_row_ += rows_in_sight_;
        break;
    case key_action::first:
        first_row_ = 0;
        break;
    case key_action::last:
        first_row_ = SIZE_MAX / 2;
        break;
    default:
        return false;
    }
    return true;
}

void dashboard::press(key_action what) {
    if (is_helping_ && what != key_action::none && what != key_action::quit) {
        is_helping_ = false; // any key closes the help
        return;
    }
    if (scroll(what)) return;
    const auto number = static_cast<std::size_t>(view_);
    switch (what) {
    case key_action::none:
    case key_action::other:
        break;
    case key_action::quit:
        is_over_ = true;
        break;
    case key_action::next_view:
        choose_view(number + 1);
        break;
    case key_action::previous_view:
        choose_view(number + view_names.size() - 1);
        break;
    case key_action::next_column:
    case key_action::previous_column:
        choose_column(what == key_action::next_column);
        break;
    case key_action::reverse:
        orders_[number].is_reversed = !orders_[number].is_reversed;
        break;
    case key_action::pause:
        is_paused_ = !is_paused_;
        break;
    case key_action::shorter_interval:
    case key_action::longer_interval:
        choose_interval(what == key_action::longer_interval);
        break;
    case key_action::help:
        is_helping_ = true;
        break;
    default:
        choose_view(static_cast<std::size_t>(what) - static_cast<std::size_t>(key_action::view_1));
    }
}

// --- screen --------------------------------------------------------------------------------------

/// The state at the left, the time of the sample at the right.
styled_line dashboard::title(std::size_t columns) const {
    std::string right = fmt::format("every {}", in_seconds(interval_));
    if (sample_)
        right = fmt::format("{:%T} UTC  {}",
                            fmt::gmtime(std::chrono::system_clock::to_time_t(sample_->now.time)),
                            right);
    const std::size_t reserved = right.size() + (is_paused_ ? 8 : 0) + 2;
    styled_line line = clipped({{"top ", text_style::dim}, {printable(state_), text_style::title}},
                               columns - std::min(columns, reserved));
    const std::size_t space = columns - std::min(columns, columns_of(line) + reserved);
    line.push_back({std::string(space + 2, ' '), text_style::plain});
    line.push_back({right, text_style::dim});
    if (is_paused_) line.push_back({"  PAUSED", text_style::warning});
    return line;
}

std::vector<styled_line> dashboard::head(std::size_t columns) const {
    std::vector<styled_line> lines{title(columns)};
    if (!failure_.empty())
        lines.push_back({{"not readable now: " + failure_, text_style::bad}});
    else
        lines.push_back(condition_line(*sample_));
    lines.push_back(rates_line(*sample_));
    lines.push_back(history_line(operations_, columns, is_unicode_));
    lines.push_back(memory_line(*sample_, is_unicode_));
    lines.push_back(disk_line(*sample_));
    lines.push_back(locks_line(*sample_));
    lines.push_back(lock_shares_line(watch_));
    lines.push_back(archive_line(*sample_));
    lines.push_back(checkpoint_line(*sample_));
    return lines;
}

styled_line dashboard::tabs() const {
    styled_line line;
    for (std::size_t each = 0; each < view_names.size(); ++each) {
        const bool is_shown = each == static_cast<std::size_t>(view_);
        line.push_back({fmt::format(" {} {} ", each + 1, view_names[each]),
                        is_shown ? text_style::selected : text_style::dim});
    }
    return line;
}

styled_line dashboard::keys() const {
    return {
        {"q quit  tab table  < > sort  r reverse  p pause  + - interval  ? help", text_style::dim}};
}

std::vector<styled_line> dashboard::help() const {
    constexpr const char* lines[] = {
        "q               quit",
        "tab, 1 to 5     another table",
        "left, right     sort by another column; beyond the last: as the state has it",
        "r               the other way round",
        "up, down        scroll; page up, page down, home, end",
        "p               pause: the screen stays, nothing is looked at",
        "+, -            a longer, a shorter interval",
        "?               this; any key leads back",
        "",
        "changes   operations, and sessions begun and ended",
        "missing   in files and not in memory; dirty: in memory, to be written",
        "faults    accesses of the writer to pages that were not in memory",
        "objects   made: ids given out; those of undone blocks do not count",
        "lock time shares of the looks at the locks since the last sample (20 a",
        "          second)",
    };
    std::vector<styled_line> text;
    for (const char* line : lines)
        text.push_back({{line, text_style::plain}});
    return text;
}

std::vector<styled_line> dashboard::table(std::size_t lines) {
    const auto& order = orders_[static_cast<std::size_t>(view_)];
    sortable_table all = table_of(view_, content());
    all.sort(order);
    const std::string note = note_of(view_, content());
    rows_in_sight_ = lines > 2 ? lines - 2 : 1; // without titles and note
    const std::size_t hidden = all.rows() - std::min(all.rows(), rows_in_sight_);
    first_row_ = std::min(first_row_, hidden);
    const std::size_t end = std::min(all.rows(), first_row_ + rows_in_sight_);
    std::vector<styled_line> text{all.heading(order)};
    for (std::size_t row = first_row_; row < end; ++row)
        text.push_back(all.row(row));
    const std::string more =
        hidden == 0 ? "" : fmt::format("rows {} to {} of {}  ", first_row_ + 1, end, all.rows());
    text.push_back({{more + note, text_style::dim}});
    return text;
}

std::vector<styled_line> dashboard::screen(std::size_t columns, std::size_t lines) {
    std::vector<styled_line> all;
    if (columns < min_columns || lines < min_lines) {
        all.push_back({{fmt::format("too small: {}x{}, top needs {}x{}; q quits", columns, lines,
                                    min_columns, min_lines),
                        text_style::warning}});
    } else if (is_helping_) {
        all = help();
    } else if (sample_) {
        all = head(columns);
        all.push_back(tabs());
        for (styled_line& line : table(lines - all.size() - 1))
            all.push_back(std::move(line));
        all.resize(lines - 1);
        all.push_back(keys());
    }
    if (all.size() > lines) all.resize(lines);
    for (styled_line& line : all)
        line = clipped(line, columns);
    return all;
}

} // namespace chainbase::inspect
