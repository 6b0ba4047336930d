#include <tools/driver/progress.hpp>

#include <spdlog/spdlog.h>

#include <cmath>
#include <cstdio>

namespace chainbase::driver {

namespace {

constexpr double sample_seconds = 0.1;
constexpr double rate_window = 5;

std::string duration_in_words(double seconds) {
    if (seconds < 120) return fmt::format("{:.0f} s", seconds);
    if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
    return fmt::format("{:.1f} h", seconds / 3600);
}

} // namespace

std::string bytes_in_words(std::uint64_t bytes) {
    const double mebi = static_cast<double>(bytes) / (1 << 20);
    return mebi < 1024 ? fmt::format("{:.1f} MiB", mebi) : fmt::format("{:.2f} GiB", mebi / 1024);
}

progress::progress(std::uint64_t from, std::uint64_t to) : from_(from), to_(to) {
    estimate_.note(0, from_);
}

double progress::seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

void progress::advance(const chain_state& state, std::uint64_t position) {
    const double now = seconds();
    if (now < next_sample_) return;
    next_sample_ = now + sample_seconds;
    estimate_.note(now, position);
    rate_.push_back({now, state.operations()});
    while (rate_.size() > 2 && rate_.front().seconds < now - rate_window)
        rate_.pop_front();
    if (now < next_line_) return;
    next_line_ = now + 1;
    say(state, position, now);
}

std::uint64_t progress::operations_per_second() const {
    const sample& first = rate_.front();
    const sample& last = rate_.back();
    if (last.seconds <= first.seconds) return 0;
    return static_cast<std::uint64_t>(static_cast<double>(last.operations - first.operations) /
                                      (last.seconds - first.seconds));
}

std::string progress::time_left_in_words(std::uint64_t position) const {
    const auto range = estimate_.range(to_ > position ? to_ - position : 0);
    if (!range)
        return fmt::format("too early to tell the time left ({} of {} read)",
                           bytes_in_words(position - from_), bytes_in_words(to_ - from_));
    const std::string least = duration_in_words(std::floor(range->first));
    const std::string most = duration_in_words(std::ceil(range->second));
    return least == most ? "about " + most + " left" : least + " to " + most + " left";
}

void progress::say(const chain_state& state, std::uint64_t position, double now) {
    std::int64_t archived = 0;
    for (const auto& [type, objects] : state.model().archived())
        archived += objects;
    spdlog::info("block {}: {} blocks, {} operations/s, memory {}, {} objects archived, {:.0f} s, "
                 "{}",
                 state.head(), state.blocks(), operations_per_second(),
                 bytes_in_words(state.memory().total), archived, now, time_left_in_words(position));
}

} // namespace chainbase::driver
