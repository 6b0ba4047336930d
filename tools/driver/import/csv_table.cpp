#include <pool_allocator/base/decimal.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/driver/import/csv_table.hpp>

#include <zstd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

namespace chainbase {

namespace {

constexpr std::size_t longest_line = 1 << 20;

} // namespace

void zstd_lines::context_deleter::operator()(ZSTD_DCtx_s* context) const noexcept {
    ZSTD_freeDCtx(context);
}

zstd_lines::zstd_lines(const std::filesystem::path& path)
    : source_(file::open_read(path)), context_(ZSTD_createDCtx()) {
    if (!context_) throw std::bad_alloc();
}

std::optional<std::string_view> zstd_lines::next() {
    std::size_t searched = 0; // of the text behind text_used_
    do {
        const std::size_t end = text_.find('\n', text_used_ + searched);
        if (end != std::string::npos) {
            const std::string_view result = take(end - text_used_);
            ++text_used_;
            return result;
        }
        searched = text_.size() - text_used_;
        if (searched > longest_line)
            throw format_error(path().string() + ": line " + std::to_string(line_ + 1) +
                               " is longer than 1 MiB");
    } while (unpack_more());
    if (text_used_ == text_.size()) return {};
    return take(text_.size() - text_used_);
}

std::string_view zstd_lines::take(std::size_t size) {
    const std::string_view result = std::string_view(text_).substr(text_used_, size);
    text_used_ += size;
    ++line_;
    return result;
}

/// Drops consumed text and appends more; false at the end.
bool zstd_lines::unpack_more() {
    if (input_used_ == input_.size() && !output_waits_ && !fill_input()) return false;
    text_.erase(0, text_used_);
    text_used_ = 0;
    const std::size_t kept = text_.size();
    text_.resize(kept + ZSTD_DStreamOutSize());
    ZSTD_inBuffer in{input_.data(), input_.size(), input_used_};
    ZSTD_outBuffer out{text_.data() + kept, text_.size() - kept, 0};
    const std::size_t hint = ZSTD_decompressStream(context_.get(), &out, &in);
    text_.resize(kept + out.pos);
    if (ZSTD_isError(hint) != 0)
        throw damaged_error(path().string() + ": near byte " +
                            std::to_string(file_position_ - input_.size() + in.pos) +
                            ", after line " + std::to_string(line_) +
                            ": zstd: " + ZSTD_getErrorName(hint));
    input_used_ = in.pos;
    frame_is_open_ = hint != 0;
    output_waits_ = frame_is_open_ && out.pos == out.size;
    return true;
}

bool zstd_lines::fill_input() {
    input_.resize(ZSTD_DStreamInSize());
    input_.resize(source_.read_at(file_position_, input_));
    input_used_ = 0;
    file_position_ += input_.size();
    if (input_.empty() && frame_is_open_)
        throw damaged_error(path().string() + ": is truncated at byte " +
                            std::to_string(file_position_) + ", after line " +
                            std::to_string(line_) + "; get the file again");
    return !input_.empty();
}

namespace {

constexpr std::size_t decimals_of_thousandths = 3;
constexpr std::int64_t max_whole = INT64_MAX / 1000 - 1;

std::optional<std::int64_t> parse_number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    return value;
}

std::optional<std::int64_t> parse_thousandths(std::string_view text) {
    const std::size_t point = text.find('.');
    const std::string_view whole = text.substr(0, point);
    std::string part(point == std::string_view::npos ? "0" : text.substr(point + 1));
    if (!is_digits(whole) || !is_digits(part) || part.size() > decimals_of_thousandths) return {};
    part.resize(decimals_of_thousandths, '0');
    const auto value = parse_number(whole);
    if (!value || *value > max_whole) return {};
    return *value * 1000 + *parse_number(part);
}

/// Parses a fixed-width time; nothing unless all digits and separators are in place.
std::optional<std::int64_t> parse_time(std::string_view text) {
    constexpr std::string_view pattern = "0000-00-00T00:00:00";
    const auto fits = [](char c, char p) { return p == '0' ? c >= '0' && c <= '9' : c == p; };
    if (!std::ranges::equal(text, pattern, fits)) return {};
    const auto part = [&](std::size_t at, std::size_t size) {
        return static_cast<unsigned>(*parse_number(text.substr(at, size)));
    };
    const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(part(0, 4))),
                                           std::chrono::month(part(5, 2)),
                                           std::chrono::day(part(8, 2))};
    if (!date.ok() || part(11, 2) > 23 || part(14, 2) > 59 || part(17, 2) > 59) return {};
    const std::chrono::sys_seconds midnight = std::chrono::sys_days(date);
    return midnight.time_since_epoch().count() + part(11, 2) * 3600 + part(14, 2) * 60 +
           part(17, 2);
}

} // namespace

csv_table::csv_table(const std::filesystem::path& path, std::vector<std::string_view> columns)
    : lines_(path), shown_("reading " + path.filename().string()), columns_(std::move(columns)) {
    const auto first = lines_.next();
    if (!first)
        throw format_error(path.string() + ": line 1: the names of the columns are missing");
    split(*first);
    for (std::size_t column = 0; column < columns_.size(); ++column)
        if (fields_[column] != columns_[column]) fail(column, "is the name of another column");
}

bool csv_table::next() {
    const auto line = lines_.next();
    if (shown_.is_due()) shown_.show(lines_.position(), lines_.size());
    if (line) split(*line);
    return line.has_value();
}

void csv_table::split(std::string_view line) {
    fields_.clear();
    for (std::size_t begin = 0; begin <= line.size();) {
        const std::size_t end = std::min(line.find(',', begin), line.size());
        fields_.push_back(line.substr(begin, end - begin));
        begin = end + 1;
    }
    if (fields_.size() == columns_.size()) return;
    throw format_error(place() + ": has " + std::to_string(fields_.size()) + " columns, not " +
                       std::to_string(columns_.size()));
}

std::int64_t csv_table::number(std::size_t column, std::int64_t least, std::int64_t most) const {
    const auto value = parse_number(text(column));
    if (!value) fail(column, "is not a number");
    if (*value < least || *value > most)
        fail(column, "is not from " + std::to_string(least) + " to " + std::to_string(most));
    return *value;
}

std::int64_t csv_table::thousandths(std::size_t column) const {
    const auto value = parse_thousandths(text(column));
    if (!value) fail(column, "is not an amount with at most three decimals");
    return *value;
}

std::int64_t csv_table::time(std::size_t column) const {
    const auto value = parse_time(text(column));
    if (!value) fail(column, "is not a time such as 2016-08-24T19:59:42");
    return *value;
}

void csv_table::fail(std::size_t column, const std::string& reason) const {
    throw format_error(place() + ", column " + std::to_string(column + 1) + " (" +
                       std::string(columns_[column]) + "): \"" + std::string(text(column)) + "\" " +
                       reason);
}

std::string csv_table::place() const {
    return lines_.path().string() + ": line " + std::to_string(lines_.line());
}

} // namespace chainbase
