#pragma once

#include <string>
#include <string_view>

namespace chainbase::inspect {

/// Whether `text` is UTF-8, as JSON requires.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// `text` as UTF-8: invalid bytes become U+FFFD.
[[nodiscard]] std::string valid_utf8(std::string_view text);

/// Appends `text` as a JSON string, as valid_utf8() has it: streams of rows are written without a
/// tree of values.
void append_json_string(std::string& to, std::string_view text);

/// `text` escaped for XML or HTML, also within a quoted attribute. Control characters, which XML
/// cannot hold, become spaces.
[[nodiscard]] std::string escaped_for_xml(std::string_view text);

} // namespace chainbase::inspect
