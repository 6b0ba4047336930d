#include <tools/driver/log_progress.hpp>
#include <tools/interruption.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace chainbase::driver {

namespace {

std::string duration_in_words(double seconds) {
    if (seconds < 120) return fmt::format("{:.0f} s", seconds);
    if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
    return fmt::format("{:.1f} h", seconds / 3600);
}

} // namespace

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

void log_progress::advance(std::uint64_t done, std::uint64_t all) {
    if (all != all_ || done < done_) begin_part(done, all);
    done_ = done;
    if (catch_interruption::caught())
        throw interrupted_error(
            fmt::format("interrupted while {}, at {} of {}; nothing unfinished is left, the same "
                        "call begins anew",
                        what_, bytes_in_words(done), bytes_in_words(all)));
    const auto now = clock::now();
    if (now < next_line_) return;
    next_line_ = now + std::chrono::seconds(1);
    estimate_.note(std::chrono::duration<double>(now - part_begin_).count(), done);
    say(done, all);
}

void log_progress::begin_part(std::uint64_t done, std::uint64_t all) {
    part_begin_ = clock::now();
    all_ = all;
    estimate_ = {};
    estimate_.note(0, done);
}

void log_progress::say(std::uint64_t done, std::uint64_t all) const {
    const auto range = estimate_.range(all - done);
    const std::string outlook = range ? ", " + in_words(*range) : "";
    spdlog::info("{}: {} of {}{}", what_, bytes_in_words(done), bytes_in_words(all), outlook);
}

} // namespace chainbase::driver
