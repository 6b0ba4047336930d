#pragma once

#include <sys/types.h>
#include <termios.h>
#include <tests/inspect/virtual_terminal.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace chainbase::test {

/// What a program with a terminal finds there.
struct terminal_surroundings {
    std::size_t columns = 100;
    std::size_t lines = 30;
    /// A value that is "-" is taken out of the environment.
    std::map<std::string, std::string> environment{};
};

/// chainbase-inspect with a terminal of its own, which is read whenever something is waited for.
class terminal_program {
public:
    /// TERM is vt100 and characters are UTF-8, unless the environment says otherwise.
    explicit terminal_program(const std::vector<std::string>& arguments,
                              const terminal_surroundings& around = {});
    terminal_program(const terminal_program&) = delete;
    terminal_program& operator=(const terminal_program&) = delete;
    /// kill -9, if it still runs.
    ~terminal_program();

    [[nodiscard]] pid_t process() const noexcept { return process_; }
    /// Reads until a text is on the screen; false when the program ended, or after a minute.
    [[nodiscard]] bool shows(const std::string& text);
    /// Reads until a text that is on it now is gone.
    [[nodiscard]] bool no_longer_shows(const std::string& text);
    /// Reads for so long.
    void read_for(int milliseconds);
    void type(const std::string& keys);
    void resize(std::size_t columns, std::size_t lines);
    void signal(int number);
    /// Waits for its end: the exit code, or 128 and the signal.
    int end();

    [[nodiscard]] const virtual_terminal& screen() const noexcept { return screen_; }
    /// Everything that it sent.
    [[nodiscard]] const std::string& sent() const noexcept { return sent_; }
    /// Whether lines are read, echoed and signals made as when it began.
    [[nodiscard]] bool is_restored() const;

private:
    [[nodiscard]] bool read_some(int milliseconds);
    template <typename Condition>
    [[nodiscard]] bool comes(Condition condition);

    virtual_terminal screen_;
    std::string sent_;
    pid_t process_ = -1;
    int terminal_ = -1;
    termios before_{};
    int status_ = 0;
    bool is_over_ = false;
};

} // namespace chainbase::test
