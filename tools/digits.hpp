#pragma once

#include <algorithm>
#include <string_view>

namespace chainbase {

/// Whether the text is one or more decimal digits and nothing else: no sign, no blank.
[[nodiscard]] inline bool is_digits(std::string_view text) noexcept {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

} // namespace chainbase
