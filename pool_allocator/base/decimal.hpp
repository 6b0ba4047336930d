#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace chainbase {

/// Whether the text is one or more decimal digits and nothing else: no sign, no blank.
[[nodiscard]] inline bool is_digits(std::string_view text) noexcept {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// The number whose decimal digits `text` is; nothing for any other text ("max", "-1", ""), and for
/// more than 64 bits.
[[nodiscard]] inline std::optional<std::uint64_t> decimal_in(std::string_view text) noexcept {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [last, problem] = std::from_chars(text.data(), end, number);
    if (problem != std::errc{} || last != end) return std::nullopt;
    return number;
}

} // namespace chainbase
