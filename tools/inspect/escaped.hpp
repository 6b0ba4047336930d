#pragma once

#include <string>
#include <string_view>

namespace chainbase::inspect {

/// Whether `text` is UTF-8, as JSON wants its strings.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// `text` as UTF-8: bytes that are none become U+FFFD.
[[nodiscard]] std::string valid_utf8(std::string_view text);

/// Appends `text`, which is UTF-8, as a JSON string: for streams of rows, of which no tree of
/// values is made.
void append_json_string(std::string& to, std::string_view text);

/// `text` within XML or HTML, also within the quotes of an attribute. Control characters, which XML
/// cannot hold, become spaces.
[[nodiscard]] std::string escaped_for_xml(std::string_view text);

} // namespace chainbase::inspect
