#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>

namespace chainbase {

/// For CLI::Option::transform: a decimal number from `least` to `most`, digits only. CLI11 itself
/// reads "-1" into an unsigned option as 2^64 - 1 and "010" as 8.
[[nodiscard]] CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);

} // namespace chainbase
