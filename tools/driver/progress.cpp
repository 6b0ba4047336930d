#include <tools/driver/progress.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>

namespace chainbase::driver {

namespace {

constexpr double sample_seconds = 0.1;
constexpr double rate_window = 5;

std::uint64_t per_second(std::uint64_t count, double seconds) {
    return seconds > 0 ? static_cast<std::uint64_t>(static_cast<double>(count) / seconds) : 0;
}

void say(const chain_state& state, std::uint64_t rate, double now, const std::string& outlook) {
    std::int64_t archived = 0;
    for (const auto& [type, objects] : state.model().archived())
        archived += objects;
    spdlog::info("block {}: {} blocks, {} operations/s, memory {}, {} objects archived, {:.1f} s, "
                 "{}",
                 state.head(), state.blocks(), rate, bytes_in_words(state.memory().total), archived,
                 now, outlook);
}

} // namespace

progress::progress(const chain_state& state, std::uint64_t from, std::uint64_t to)
    : operations_before_(state.operations()), from_(from), to_(to) {
    estimate_.note(0, from_);
    rate_.push_back({0, operations_before_, {}});
}

double progress::seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

void progress::advance(const chain_state& state, std::uint64_t position,
                       block_feed::waiting waited) {
    const double now = seconds();
    if (now < next_sample_) return;
    next_sample_ = now + sample_seconds;
    gauges_.update(state);
    position = std::max(position, from_); // which was estimated from block numbers
    estimate_.note(now, position);
    rate_.push_back({now, state.operations(), waited});
    while (rate_.size() > 2 && rate_.front().seconds < now - rate_window)
        rate_.pop_front();
    if (now < next_line_) return;
    next_line_ = now + 1;
    const sample& first = rate_.front();
    say(state, per_second(state.operations() - first.operations, now - first.seconds), now,
        waits_in_words(rate_.back()) + time_left_in_words(position));
}

/// Who waited for whom in the window: shares of the time, of all decoding threads together.
std::string progress::waits_in_words(const sample& now) const {
    const sample& then = rate_.front();
    const auto share = [&](std::chrono::nanoseconds until, std::chrono::nanoseconds from) {
        return std::chrono::duration<double>(until - from).count() / (now.seconds - then.seconds);
    };
    if (now.seconds <= then.seconds) return {};
    return fmt::format("waits: apply {:.0f} % (and helps decode {:.0f} %), decode {:.0f} %, ",
                       100 * share(now.waited.for_blocks, then.waited.for_blocks),
                       100 * share(now.waited.helping, then.waited.helping),
                       100 * share(now.waited.for_room, then.waited.for_room));
}

void progress::finish(const chain_state& state, const char* how) {
    gauges_.show(state);
    const double now = seconds();
    say(state, per_second(state.operations() - operations_before_, now), now, how);
}

std::string progress::time_left_in_words(std::uint64_t position) const {
    const auto range = estimate_.range(to_ > position ? to_ - position : 0);
    if (!range)
        return fmt::format("too early to tell the time left ({} of {} read)",
                           bytes_in_words(position - from_),
                           bytes_in_words(std::max(to_, position) - from_));
    return in_words(*range);
}

} // namespace chainbase::driver
