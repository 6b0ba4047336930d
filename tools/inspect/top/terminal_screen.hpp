#pragma once

#include <tools/inspect/top/dashboard.hpp>
#include <tools/inspect/top/views.hpp>

#include <chrono>
#include <cstddef>
#include <vector>

namespace chainbase::inspect {

/// The terminal that stdin and stdout are, taken over while this lives and given back by the
/// destructor. One at a time, in one thread. SIGHUP and SIGQUIT, too, only end the waiting
/// meanwhile; SIGINT and SIGTERM are for who makes it to catch before. Colours unless NO_COLOR says
/// otherwise (https://no-color.org) or the terminal has none.
class terminal_screen {
public:
    /// Throws usage_error, with what to do instead, when stdin or stdout is no terminal or TERM
    /// names none whose cursor can be moved.
    terminal_screen();
    ~terminal_screen();
    terminal_screen(const terminal_screen&) = delete;
    terminal_screen& operator=(const terminal_screen&) = delete;

    /// Whether it shows more than ASCII.
    [[nodiscard]] static bool is_unicode();
    [[nodiscard]] std::size_t columns() const noexcept;
    [[nodiscard]] std::size_t lines() const noexcept;

    /// Shows these lines, and nothing else. Only what changed is sent.
    void show(const std::vector<styled_line>& text);
    /// Waits for a key, a resize or a signal, but no longer than this; `none` of the latter two.
    /// When nobody is at the terminal any more, or a signal says so, `quit`.
    [[nodiscard]] key_action wait(std::chrono::milliseconds longest);

private:
    void* screen_ = nullptr; ///< the library's, whose header stays out of this one
};

} // namespace chainbase::inspect
