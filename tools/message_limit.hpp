#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

namespace chainbase {

/// Bounds how often peers can make a program write to its log: at most `most` messages a period,
/// and one of consecutive equal texts. The next message tells how many were left out.
///
///     peer 10.0.0.7:4000: hung up; it is tried again
///     peer 10.0.0.7:4000: hung up; it is tried again (41 more were left out)
///
/// Use one object for each kind of message, so that none hides another kind. Thread-safe.
class message_limit {
public:
    enum class level { info, warning, error };

    /// `what` names the messages in the destructor's report of those left out ("rejected blocks").
    explicit message_limit(std::string what, unsigned most = 10,
                           std::chrono::milliseconds period = std::chrono::minutes(1))
        : what_(std::move(what)), most_(most), period_(period) {}
    /// Logs how many were left out since the last message.
    ~message_limit();
    message_limit(const message_limit&) = delete;
    message_limit& operator=(const message_limit&) = delete;

    /// Logs the text, or counts it as left out.
    void say(level how, const std::string& text);
    /// Logs the text without limit.
    void say_always(level how, const std::string& text);

private:
    using clock = std::chrono::steady_clock;

    void log(level how, const std::string& text);

    std::mutex mutex_;
    std::string what_;
    unsigned most_;
    std::chrono::milliseconds period_;
    clock::time_point end_{}; ///< of the period
    unsigned said_ = 0;       ///< in it
    std::string last_;        ///< text
    std::uint64_t left_out_ = 0;
};

} // namespace chainbase
