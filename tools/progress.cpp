#include <tools/interruption.hpp>
#include <tools/progress.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <string_view>

namespace chainbase {

void time_left::note(double seconds, std::uint64_t done) {
    if (!first_) first_ = {seconds, done};
    recent_.push_back({seconds, done});
    while (recent_.size() > 2 && recent_[1].seconds <= seconds - window)
        recent_.pop_front();
}

/// Bytes per second since the newest sample of at least that age; 0 when nothing was done.
double time_left::rate_over(double seconds) const {
    const sample& now = recent_.back();
    const auto old_enough = [&](const sample& one) { return one.seconds <= now.seconds - seconds; };
    const auto from = std::find_if(recent_.rbegin(), recent_.rend(), old_enough);
    const sample& then = from == recent_.rend() ? recent_.front() : *from;
    if (now.seconds <= then.seconds) return 0;
    return static_cast<double>(now.done - then.done) / (now.seconds - then.seconds);
}

std::optional<time_left::range_of_seconds> time_left::range(std::uint64_t left) const {
    if (!first_ || recent_.back().seconds - first_->seconds < enough) return std::nullopt;
    const sample& now = recent_.back();
    const double overall =
        static_cast<double>(now.done - first_->done) / (now.seconds - first_->seconds);
    const double lately = rate_over(window);
    const std::array<double, 3> rates{overall, lately, rate_over(1)};
    const double fastest = *std::max_element(rates.begin(), rates.end());
    if (fastest <= 0) return std::nullopt;
    double slowest = fastest;
    for (const double rate : rates)
        if (rate > 0) slowest = std::min(slowest, rate);
    const auto to_do = static_cast<double>(left);
    const double unknown = to_do / (to_do + static_cast<double>(now.done - first_->done));
    if (lately <= 0 && to_do > 0)
        return std::pair(to_do / fastest, std::numeric_limits<double>::infinity());
    return std::pair(to_do / fastest, to_do / slowest * (1 + unknown));
}

std::string in_words(const time_left::range_of_seconds& left) {
    const std::string least = duration_in_words(std::floor(left.first));
    if (std::isinf(left.second)) return "at least " + least + " left, no progress";
    const std::string most = duration_in_words(std::ceil(left.second));
    return least == most ? "about " + most + " left" : least + " to " + most + " left";
}

namespace {

/// What the terminal shows below the log; the logging threads take it off.
std::mutex line_mutex;
bool is_line_drawn = false;

bool is_terminal(int file) {
    const char* const kind = std::getenv("TERM");
    return ::isatty(file) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

std::chrono::milliseconds pause() {
    if (is_terminal(STDERR_FILENO)) return std::chrono::milliseconds(200);
    const char* const asked = std::getenv("CHAINBASE_PROGRESS_SECONDS");
    const double seconds = asked ? std::strtod(asked, nullptr) : 0;
    const double usable = seconds > 0 && seconds < 1e6 ? seconds : 10;
    return std::chrono::milliseconds(static_cast<std::int64_t>(1000 * usable));
}

/// Cut to the terminal's width, at a whole character.
void draw(std::string text) {
    winsize size{};
    const bool is_known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    std::size_t columns = is_known ? size.ws_col - 1U : 79;
    std::size_t end = 0;
    for (; end < text.size(); ++end)
        if ((static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U && columns-- == 0) break;
    text.resize(end);
    const std::lock_guard held(line_mutex);
    fmt::print(stderr, "\r\x1b[K{}", text);
    std::fflush(stderr);
    is_line_drawn = true;
}

} // namespace

void progress::clear_line() noexcept {
    const std::lock_guard held(line_mutex);
    if (!std::exchange(is_line_drawn, false)) return;
    std::fputs("\r\x1b[K", stderr);
    std::fflush(stderr);
}

progress::progress(std::string what, std::string unit, bool prints)
    : what_(std::move(what)), unit_(std::move(unit)),
      is_hidden_(prints && is_terminal(STDOUT_FILENO)), pause_(pause()),
      next_line_(clock::now() + pause_) {}

progress::~progress() {
    clear_line();
}

void progress::advance(std::uint64_t done, std::uint64_t all) {
    if (catch_interruption::caught()) {
        const std::string at = all == 0 ? std::string() : ", at " + amounts(done, all);
        throw interrupted_error("interrupted while " + what_ + at +
                                (is_kept_
                                     ? "; what was done is kept, and the same call goes on"
                                     : "; nothing unfinished is left, the same call begins anew"));
    }
    show(done, all);
}

void progress::show(std::uint64_t done, std::uint64_t all, const details& more) {
    if (all != all_ || done < done_) begin_part(done, all);
    done_ = done;
    const auto now = clock::now();
    if (now < next_look_) return;
    next_look_ = now + std::min(pause_, std::chrono::milliseconds(100));
    estimate_.note(std::chrono::duration<double>(now - part_begin_).count(), done);
    if (now < next_line_ || is_quiet || is_hidden_) return;
    next_line_ = now + pause_;
    std::string text = what_ + ": ";
    if (all != 0) {
        text += fmt::format("{:.0f} %, ", std::min(percent_of(done, all), 100.0));
        if (const auto range = estimate_.range(all > done ? all - done : 0))
            text += in_words(*range) + ", ";
    }
    text += more ? more() : amounts(done, all);
    if (is_terminal(STDERR_FILENO))
        draw(std::move(text));
    else
        spdlog::info(text);
}

void progress::begin_part(std::uint64_t done, std::uint64_t all) {
    part_begin_ = clock::now();
    all_ = all;
    estimate_ = {};
    estimate_.note(0, done);
}

std::string progress::amounts(std::uint64_t done, std::uint64_t all) const {
    const auto amount = [&](std::uint64_t of) {
        return unit_ == bytes ? bytes_in_words(of) : grouped(of);
    };
    std::string text = amount(done);
    if (all != 0) text += " of " + amount(all);
    return unit_ == bytes ? text : text + " " + unit_;
}

} // namespace chainbase
