#pragma once

#include <string>
#include <string_view>

namespace chainbase::sink {

/// Whether a text can be one in SQL: UTF-8 without a zero byte.
[[nodiscard]] bool is_sql_text(std::string_view text) noexcept;
/// Any bytes as such a text: U+FFFD in place of what is wrong.
[[nodiscard]] std::string sql_text(std::string_view text);

} // namespace chainbase::sink
