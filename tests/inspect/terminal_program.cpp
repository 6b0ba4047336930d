#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <tests/inspect/terminal_program.hpp>
#include <unistd.h>
#include <utmp.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

namespace chainbase::test {

namespace {

winsize size_of(std::size_t columns, std::size_t lines) {
    winsize size{};
    size.ws_col = static_cast<unsigned short>(columns);
    size.ws_row = static_cast<unsigned short>(lines);
    return size;
}

void set_environment(const std::map<std::string, std::string>& wanted) {
    for (const char* name : {"NO_COLOR", "LC_CTYPE", "LINES", "COLUMNS"})
        ::unsetenv(name);
    ::setenv("TERM", "vt100", 1);
    ::setenv("LC_ALL", "C.UTF-8", 1);
    for (const auto& [name, value] : wanted)
        value == "-" ? ::unsetenv(name.c_str()) : ::setenv(name.c_str(), value.c_str(), 1);
}

} // namespace

terminal_program::terminal_program(const std::vector<std::string>& arguments,
                                   const terminal_surroundings& around)
    : screen_(around.columns, around.lines) {
    std::vector<const char*> words{"chainbase-inspect"};
    for (const std::string& word : arguments)
        words.push_back(word.c_str());
    words.push_back(nullptr);
    winsize size = size_of(around.columns, around.lines);
    int end = -1;
    if (::openpty(&terminal_, &end, nullptr, nullptr, &size) != 0)
        throw std::runtime_error("no terminal");
    ::tcgetattr(end, &before_);
    process_ = ::fork();
    if (process_ == 0) {
        ::close(terminal_);
        ::login_tty(end);
        set_environment(around.environment);
        ::execv(CHAINBASE_INSPECT_PROGRAM, const_cast<char**>(words.data()));
        ::_exit(127);
    }
    ::close(end);
}

terminal_program::~terminal_program() {
    if (!is_over_) {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, &status_, 0);
    }
    ::close(terminal_);
}

/// False: nobody has the other end open any more.
bool terminal_program::read_some(int milliseconds) {
    pollfd from{terminal_, POLLIN, 0};
    if (::poll(&from, 1, milliseconds) <= 0) return true;
    char piece[4096];
    const ssize_t got = ::read(terminal_, piece, sizeof piece);
    if (got <= 0) return false;
    const std::string_view sent(piece, static_cast<std::size_t>(got));
    sent_ += sent;
    screen_.take(sent);
    return true;
}

template <typename Condition>
bool terminal_program::comes(Condition condition) {
    using clock = std::chrono::steady_clock;
    const auto until = clock::now() + std::chrono::minutes(1);
    while (!condition())
        if (clock::now() > until || !read_some(20)) return condition();
    return true;
}

bool terminal_program::shows(const std::string& text) {
    return comes([&] { return screen_.text().find(text) != std::string::npos; });
}

bool terminal_program::no_longer_shows(const std::string& text) {
    return comes([&] { return screen_.text().find(text) == std::string::npos; });
}

void terminal_program::read_for(int milliseconds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    while (std::chrono::steady_clock::now() < until && read_some(10))
        continue;
}

void terminal_program::type(const std::string& keys) {
    if (::write(terminal_, keys.data(), keys.size()) != static_cast<ssize_t>(keys.size()))
        throw std::runtime_error("the terminal takes no keys");
}

void terminal_program::resize(std::size_t columns, std::size_t lines) {
    screen_.resize(columns, lines);
    const winsize size = size_of(columns, lines);
    ::ioctl(terminal_, TIOCSWINSZ, &size);
}

void terminal_program::signal(int number) {
    ::kill(process_, number);
}

int terminal_program::end() {
    while (!is_over_) {
        const bool is_open = read_some(20);
        is_over_ = ::waitpid(process_, &status_, is_open ? WNOHANG : 0) == process_;
    }
    read_for(50); // what it sent last
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
}

bool terminal_program::is_restored() const {
    termios now{};
    ::tcgetattr(terminal_, &now);
    return now.c_iflag == before_.c_iflag && now.c_oflag == before_.c_oflag &&
           now.c_lflag == before_.c_lflag;
}

} // namespace chainbase::test
