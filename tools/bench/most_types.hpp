#pragma once

#include <cstdint>

namespace chainbase::bench {

/// Types are registered at compile time in some engines, so there is a limit.
inline constexpr std::uint32_t most_types = 128;

} // namespace chainbase::bench
