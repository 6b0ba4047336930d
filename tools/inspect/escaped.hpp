#pragma once

#include <string>
#include <string_view>

namespace chainbase::inspect {

/// `text` as UTF-8: bytes that are none become U+FFFD.
[[nodiscard]] std::string valid_utf8(std::string_view text);

/// `text` within XML or HTML, also within the quotes of an attribute. Control characters, which XML
/// cannot hold, become spaces.
[[nodiscard]] std::string escaped_for_xml(std::string_view text);

} // namespace chainbase::inspect
