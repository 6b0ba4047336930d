#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace chainbase::inspect {

/// Whether `text` is UTF-8, as JSON wants its strings.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// Appends `text`, which is UTF-8, as a JSON string: for streams of rows, of which no tree of
/// values is made.
void append_json_string(std::string& to, std::string_view text);

/// null for an empty text.
[[nodiscard]] nlohmann::ordered_json text_or_null(const std::string& text);

/// On one line. Lock files and paths hold any bytes: what is no UTF-8 is replaced.
[[nodiscard]] std::string line_of(const nlohmann::ordered_json& value);

} // namespace chainbase::inspect
