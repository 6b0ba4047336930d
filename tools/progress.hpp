#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace chainbase {

/// Estimates the remaining time of work: a range from the fastest to the slowest of the rates since
/// the begin, over the last ten seconds and over the last one; widened by up to as much again, in
/// proportion to the work left.
///
/// Without progress for ten seconds there is no upper end. A growing state makes work slower,
/// seldom faster, so only the upper end is widened.
class time_left {
public:
    /// Seconds, at least and at most.
    using range_of_seconds = std::pair<double, double>;

    /// Records that `done` units of work were done `seconds` after the begin. Both never fall.
    void note(double seconds, std::uint64_t done);

    /// Seconds for `left` more units, at least and at most (infinite without progress), never
    /// negative. Nothing before half a second of progress.
    [[nodiscard]] std::optional<range_of_seconds> range(std::uint64_t left) const;

private:
    struct sample {
        double seconds;
        std::uint64_t done;
    };
    [[nodiscard]] double rate_over(double seconds) const;

    static constexpr double enough = 0.5;
    static constexpr double window = 10;

    std::optional<sample> first_;
    std::deque<sample> recent_;
};

/// "3 to 5 min left".
[[nodiscard]] std::string in_words(const time_left::range_of_seconds& left);

/// Shows on stderr what a verb that may take long has done: on a terminal as one line that is drawn
/// again and again, else as a line of the log every ten seconds (every CHAINBASE_PROGRESS_SECONDS).
/// The line is gone when the object is, or when something is logged.
///
///     verifying: 45 %, 3 to 5 min left, 1.1 GiB of 2.4 GiB
///
/// For one thread; one object at a time shows something.
class progress {
public:
    using details = std::function<std::string()>;

    /// `what` names the work, such as "verifying"; `unit` what is counted, such as "objects".
    /// `prints`: the verb writes to stdout meanwhile, so nothing is shown if that is a terminal.
    explicit progress(std::string what, std::string unit = bytes, bool prints = false);
    ~progress();
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;

    static constexpr const char* bytes = ""; ///< a unit that is shown as "4.4 MiB"

    /// Call it often: it reads a clock. A changed `all`, or less done, begins another part of the
    /// work; 0: it is not known. Throws interrupted_error after a signal.
    void advance(std::uint64_t done, std::uint64_t all);
    /// What interrupted_error says then: nothing is left, unless this was called.
    void keeps_what_is_done() noexcept { is_kept_ = true; }
    /// As advance() without an exception, and with `more` in place of how much is done.
    void show(std::uint64_t done, std::uint64_t all, const details& more = {});
    /// Whether show() would show something now, or note it for the time left.
    [[nodiscard]] bool is_due() const noexcept { return clock::now() >= next_look_; }

    /// advance() as a function object. Valid as long as this object.
    [[nodiscard]] std::function<void(std::uint64_t, std::uint64_t)> as_callback() {
        return [this](std::uint64_t done, std::uint64_t all) { advance(done, all); };
    }

    /// Whether nothing is shown, by --quiet.
    static inline bool is_quiet = false;
    /// Takes the line off the terminal, if one is there: something else is to be written.
    static void clear_line() noexcept;

private:
    using clock = std::chrono::steady_clock;

    void begin_part(std::uint64_t done, std::uint64_t all);
    [[nodiscard]] std::string amounts(std::uint64_t done, std::uint64_t all) const;

    std::string what_;
    std::string unit_;
    bool is_hidden_;
    bool is_kept_ = false;            ///< the work is gone on with by the same call
    std::chrono::milliseconds pause_; ///< between two lines
    std::uint64_t done_ = 0;
    std::uint64_t all_ = 0;
    clock::time_point part_begin_ = clock::now();
    clock::time_point next_look_; ///< when the clock is looked at again
    clock::time_point next_line_;
    time_left estimate_;
};

} // namespace chainbase
