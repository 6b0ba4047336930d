#include <tools/inspect/top/views.hpp>
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
    return bytes_in_words(static_cast<std::uint64_t>(std::llround(bytes)));
}

std::string gained_bytes(double bytes) {
    const double size = std::round(std::abs(bytes));
    return with_sign(size == 0 ? 0 : bytes, short_bytes(size));
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

namespace {

using doing = lock_report::doing;

std::chrono::nanoseconds duration_of(double seconds) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(seconds));
}

} // namespace

void lock_watch::add(const lock_report& found) noexcept {
    ++looks_;
    ++now_.looks;
    const lock_report::of_writer& writer = found.writer;
    if (writer.is_alive && writer.what != doing::idle) {
        const bool is_inside = writer.what == doing::inside;
        (is_inside ? now_.writing : now_.writer_waiting) += 1;
        (is_inside ? write_turns : writer_waits).record(duration_of(writer.seconds));
    }
    bool is_reading = false;
    bool is_waiting = false;
    for (const lock_report::of_reader& reader : found.readers) {
        if (!reader.is_alive || reader.what == doing::idle) continue;
        const bool is_inside = reader.what == doing::inside;
        (is_inside ? is_reading : is_waiting) = true;
        (is_inside ? read_turns : reader_waits).record(duration_of(reader.seconds));
    }
    now_.reading += is_reading ? 1 : 0;
    now_.readers_waiting += is_waiting ? 1 : 0;
}

void lock_watch::end_interval() noexcept {
    last_ = now_;
    now_ = {};
}

void top_sampler::compare(top_sample& to) const {
    to.rates = live_rates::between(*last_, to.now);
    to.seconds = std::chrono::duration<double>(to.now.taken - last_->taken).count();
    if (is_one_count(*last_, to.now)) to.archive_before = last_->archive->figures;
}

top_sample top_sampler::take() {
    top_sample sample;
    sample.now = sampler_.take();
    const state_report& state = sample.now.state;
    if (last_ && !continues(names_of_types(last_->state), names_of_types(state))) {
        last_.reset();
        meter_ = growth_meter();
    }
    if (last_) compare(sample);
    sample.growth = meter_.add(state, sample.now.taken);
    sample.checkpoints = checkpoints_now(sampler_.state());
    last_ = sample.now;
    return sample;
}

namespace {

/// Whether a byte begins a UTF-8 character.
bool begins_character(char byte) noexcept {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

/// The byte length of the first characters.
std::size_t bytes_of(const std::string& text, std::size_t columns) noexcept {
    std::size_t at = 0;
    for (; at < text.size(); ++at)
        if (begins_character(text[at]) && columns-- == 0) break;
    return at;
}

} // namespace

std::size_t columns_of(const std::string& text) noexcept {
    return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::size_t columns_of(const styled_line& line) noexcept {
    std::size_t columns = 0;
    for (const styled_text& each : line)
        columns += columns_of(each.text);
    return columns;
}

styled_line clipped(const styled_line& line, std::size_t columns) {
    styled_line result;
    for (const styled_text& each : line) {
        if (columns == 0) break;
        result.push_back({each.text.substr(0, bytes_of(each.text, columns)), each.style});
        columns -= columns_of(result.back().text);
    }
    return result;
}

std::string plain_text(const styled_line& line) {
    std::string text;
    for (const styled_text& each : line)
        text += each.text;
    return text;
}

std::string printable(const std::string& name) {
    std::string text = name;
    for (char& each : text)
        if (each < ' ' || each > '~') each = '?';
    return text;
}

namespace {

using cell = sortable_table::cell;

/// Whether `a` precedes `b`; cells with a figure precede those without.
bool precedes(const cell& a, const cell& b, bool is_reversed) {
    if (a.figure.has_value() != b.figure.has_value()) return a.figure.has_value();
    if (a.figure) return is_reversed ? *a.figure < *b.figure : *a.figure > *b.figure;
    return is_reversed ? a.text > b.text : a.text < b.text;
}

} // namespace

void sortable_table::sort(const order& by) {
    if (!by.column) return;
    std::stable_sort(rows_.begin(), rows_.end(), [&by](const auto& a, const auto& b) {
        return precedes(a[*by.column], b[*by.column], by.is_reversed);
    });
}

std::size_t sortable_table::width(std::size_t column) const {
    std::size_t width = columns_of(columns_[column].title) + 2; // space for the sort mark
    for (const auto& row : rows_)
        width = std::max(width, columns_of(row[column].text));
    return width;
}

std::string sortable_table::aligned(const std::string& text, std::size_t column) const {
    const std::size_t wide = width(column);
    const std::size_t own = columns_of(text);
    const std::string space(wide - std::min(own, wide), ' ');
    return column == 0 || columns_[column].is_text ? text + space : space + text;
}

styled_line sortable_table::heading(const order& by) const {
    styled_line line;
    for (std::size_t each = 0; each < columns_.size(); ++each) {
        const bool is_sorted = by.column == each;
        const char* mark = !is_sorted ? "" : by.is_reversed ? " ^" : " v";
        if (each != 0) line.push_back({" ", text_style::title});
        line.push_back({aligned(columns_[each].title + mark, each),
                        is_sorted ? text_style::selected : text_style::title});
    }
    return line;
}

styled_line sortable_table::row(std::size_t number) const {
    styled_line line;
    for (std::size_t each = 0; each < columns_.size(); ++each) {
        const cell& one = rows_[number][each];
        if (each != 0) line.push_back({" ", text_style::plain});
        line.push_back({aligned(one.text, each), one.style});
    }
    return line;
}

} // namespace chainbase::inspect
