#pragma once

#include <cstdint>
#include <string>

namespace chainbase {

/// "4.4 MiB".
[[nodiscard]] std::string bytes_in_words(std::uint64_t bytes);

} // namespace chainbase
