#pragma once

#include <tools/inspect/top/dashboard.hpp>
#include <tools/inspect/top/views.hpp>

#include <chrono>
#include <cstddef>
#include <vector>

namespace chainbase::inspect {

/// Takes over the terminal of stdin and stdout until the destructor. One at a time, in one thread.
/// Meanwhile SIGHUP and SIGQUIT also only end the waiting; the caller catches SIGINT and SIGTERM
/// beforehand. Uses colours unless NO_COLOR is set (https://no-color.org) or the terminal has none.
class terminal_screen {
public:
    /// Throws usage_error, with what to do instead, when stdin or stdout is no terminal, or TERM
    /// names one whose cursor cannot be moved.
    terminal_screen();
    ~terminal_screen();
    terminal_screen(const terminal_screen&) = delete;
    terminal_screen& operator=(const terminal_screen&) = delete;

    /// Whether it displays more than ASCII.
    [[nodiscard]] static bool is_unicode();
    [[nodiscard]] std::size_t columns() const noexcept;
    [[nodiscard]] std::size_t lines() const noexcept;

    /// Shows exactly these lines. Sends only changes.
    void show(const std::vector<styled_line>& text);
    /// Waits for a key, a resize or a signal, at most this long; `none` for the latter two. `quit`
    /// when the terminal is gone, or a signal asks for it.
    [[nodiscard]] key_action wait(std::chrono::milliseconds longest);

private:
    void* screen_ = nullptr; ///< the library's, whose header is not included here
};

} // namespace chainbase::inspect
