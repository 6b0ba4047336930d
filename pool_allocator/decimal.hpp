#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace chainbase {

/// The number whose decimal digits `text` is; nothing for any other text ("max", "-1", ""), and for
/// more than 64 bits.
[[nodiscard]] std::optional<std::uint64_t> decimal_in(std::string_view text) noexcept;

} // namespace chainbase
