#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// What a piece of text means; the terminal decides what it looks like.
enum class text_style { plain, title, dim, good, warning, bad, selected };

/// A piece of a line.
struct styled_text {
    std::string text; ///< UTF-8, every character a column wide, no control characters
    text_style style = text_style::plain;
};

using styled_line = std::vector<styled_text>;

/// How many columns a text takes on the screen, if every character takes one.
[[nodiscard]] std::size_t columns_of(const std::string& text) noexcept;
[[nodiscard]] std::size_t columns_of(const styled_line& line) noexcept;

/// The first columns of it.
[[nodiscard]] styled_line clipped(const styled_line& line, std::size_t columns);

/// The line without its styles.
[[nodiscard]] std::string plain_text(const styled_line& line);

/// What somebody else named, as text for a screen: whatever is not printable ASCII becomes '?', so
/// that no name moves the cursor, and every character takes a column.
[[nodiscard]] std::string printable(const std::string& name);

} // namespace chainbase::inspect
