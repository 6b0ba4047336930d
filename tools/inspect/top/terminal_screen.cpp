#include <pool_allocator/base/error.hpp>
#include <tools/inspect/top/terminal_screen.hpp>

#include <langinfo.h>
#include <poll.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstdlib>
#include <string_view>

// Included last, since it defines common words as macros.
#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <term.h>
#undef columns
#undef lines

namespace chainbase::inspect {

namespace {

constexpr const char* otherwise = "; `chainbase-inspect stat DIR --watch --json` and `top --json` "
                                  "need no terminal";

/// newterm() would accept a terminal that cannot move its cursor, and initscr() ends the process.
void require_terminal() {
    if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0)
        throw usage_error(std::string("top: stdin and stdout must be a terminal") + otherwise);
    const char* const name = std::getenv("TERM");
    int found = 0;
    const bool is_known = name && setupterm(name, STDOUT_FILENO, &found) == OK;
    const bool is_usable = is_known && cursor_address != nullptr && clear_screen != nullptr;
    if (is_known) del_curterm(cur_term);
    if (!is_usable)
        throw usage_error(std::string("top: TERM=") + (name ? name : "") +
                          " names no terminal whose cursor can be moved; set it to the type of "
                          "the terminal" +
                          otherwise);
}

bool wants_colours() {
    const char* const no = std::getenv("NO_COLOR");
    return (!no || *no == '\0') && has_colors();
}

volatile std::sig_atomic_t is_to_end = 0;

void note_end(int) {
    is_to_end = 1;
}

void set_handler(void (*handler)(int)) {
    for (const int each : {SIGHUP, SIGQUIT})
        std::signal(each, handler);
}

enum colour_pair : short { good_pair = 1, warning_pair, bad_pair };

attr_t attributes_of(text_style style, bool is_coloured) {
    const auto colour = [is_coloured](short pair, attr_t otherwise_as) {
        return is_coloured ? static_cast<attr_t>(COLOR_PAIR(pair)) : otherwise_as;
    };
    switch (style) {
    case text_style::plain:
        return A_NORMAL;
    case text_style::title:
        return A_BOLD;
    case text_style::dim:
        return A_DIM;
    case text_style::good:
        return colour(good_pair, A_NORMAL);
    case text_style::warning:
        return colour(warning_pair, A_NORMAL) | A_BOLD;
    case text_style::bad:
        return colour(bad_pair, A_REVERSE) | A_BOLD;
    case text_style::selected:
        return A_REVERSE;
    }
    return A_NORMAL;
}

/// Whether stdin's other end is closed: reading then returns at once without data.
bool is_hung_up() {
    pollfd in{STDIN_FILENO, POLLIN, 0};
    return ::poll(&in, 1, 0) > 0 && (in.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

key_action action_of(int key) {
    if (key >= '1' && key < '1' + static_cast<int>(view_names.size()))
        return static_cast<key_action>(static_cast<int>(key_action::view_1) + (key - '1'));
    switch (key) {
    case 'q':
    case 'Q':
        return key_action::quit;
    case '\t':
        return key_action::next_view;
    case KEY_BTAB:
        return key_action::previous_view;
    case KEY_RIGHT:
    case '>':
        return key_action::next_column;
    case KEY_LEFT:
    case '<':
        return key_action::previous_column;
    case 'r':
        return key_action::reverse;
    case KEY_UP:
    case 'k':
        return key_action::up;
    case KEY_DOWN:
    case 'j':
        return key_action::down;
    case KEY_PPAGE:
        return key_action::page_up;
    case KEY_NPAGE:
    case ' ':
        return key_action::page_down;
    case KEY_HOME:
        return key_action::first;
    case KEY_END:
        return key_action::last;
    case 'p':
        return key_action::pause;
    case '+':
    case '=':
        return key_action::longer_interval;
    case '-':
        return key_action::shorter_interval;
    case '?':
    case 'h':
        return key_action::help;
    case ERR:
    case KEY_RESIZE:
        return key_action::none;
    default:
        return key_action::other;
    }
}

} // namespace

bool terminal_screen::is_unicode() {
    std::setlocale(LC_CTYPE, "");
    return std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
}

terminal_screen::terminal_screen() {
    require_terminal();
    std::setlocale(LC_CTYPE, "");
    screen_ = newterm(nullptr, stdout, stdin);
    if (!screen_) throw usage_error(std::string("top: the terminal cannot be used") + otherwise);
    is_to_end = 0;
    set_handler(note_end);
    cbreak();
    noecho();
    nonl();
    curs_set(0);
    keypad(stdscr, TRUE);
    set_escdelay(25); // a lone Escape is not a command
    if (!wants_colours()) return;
    start_color();
    use_default_colors();
    init_pair(good_pair, COLOR_GREEN, -1);
    init_pair(warning_pair, COLOR_YELLOW, -1);
    init_pair(bad_pair, COLOR_RED, -1);
}

terminal_screen::~terminal_screen() {
    endwin();
    delscreen(static_cast<SCREEN*>(screen_));
    set_handler(SIG_DFL);
}

std::size_t terminal_screen::columns() const noexcept {
    return static_cast<std::size_t>(COLS);
}

std::size_t terminal_screen::lines() const noexcept {
    return static_cast<std::size_t>(LINES);
}

void terminal_screen::show(const std::vector<styled_line>& text) {
    const bool is_coloured = wants_colours();
    erase();
    for (std::size_t line = 0; line < text.size(); ++line) {
        move(static_cast<int>(line), 0);
        for (const styled_text& each : text[line]) {
            attrset(static_cast<int>(attributes_of(each.style, is_coloured)));
            addstr(each.text.c_str());
        }
    }
    attrset(A_NORMAL);
    refresh();
}

key_action terminal_screen::wait(std::chrono::milliseconds longest) {
    timeout(static_cast<int>(longest.count()));
    const int key = getch();
    if (is_to_end != 0 || (key == ERR && is_hung_up())) return key_action::quit;
    return action_of(key);
}

} // namespace chainbase::inspect
