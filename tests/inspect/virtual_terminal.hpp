#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::test {

/// What a terminal shows after what was sent to it: as much of a VT100 as curses uses of it.
class virtual_terminal {
public:
    virtual_terminal(std::size_t columns, std::size_t lines) { resize(columns, lines); }

    /// Empties it.
    void resize(std::size_t columns, std::size_t lines);
    void take(std::string_view sent);

    /// The lines without spaces at their ends, each ended by a newline.
    [[nodiscard]] std::string text() const;
    [[nodiscard]] std::string line(std::size_t number) const;
    [[nodiscard]] std::size_t lines() const noexcept { return cells_.size(); }
    /// Sequences that it does not know; a test of it fails, rather than believe its screen.
    [[nodiscard]] const std::vector<std::string>& unknown() const noexcept { return unknown_; }

private:
    void take_plain(char byte);
    void take_escaped(char byte);
    void carry_out(char last);
    void move_cursor(char last);
    void put(char byte);
    void clear_line(std::size_t from, std::size_t to);
    void clear_screen(unsigned what);
    void line_feed();
    [[nodiscard]] std::size_t number(std::size_t which, std::size_t otherwise) const;

    std::size_t columns_ = 0;
    std::vector<std::vector<std::string>> cells_;
    std::size_t row_ = 0;
    std::size_t column_ = 0;
    std::string escape_; ///< the sequence that is being read; empty outside of one
    std::vector<std::string> unknown_;
};

} // namespace chainbase::test
