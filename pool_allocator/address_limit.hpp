#pragma once

#include <cstdint>

namespace chainbase {

/// Throws the limit_error that a mapping of `bytes` failed with, by errno, and says what to do.
[[noreturn]] void throw_no_addresses(std::uint64_t bytes);

} // namespace chainbase
