#pragma once

#include <chainbase/catalogue.hpp>

#include <cstdint>
#include <string>

namespace chainbase::inspect {

/// Of all types of a state: equal when they have the same types with the same layouts, in whatever
/// order they were added.
[[nodiscard]] std::uint64_t schema_hash(const catalogue& types);

/// Sixteen hexadecimal digits.
[[nodiscard]] std::string hash_text(std::uint64_t hash);

} // namespace chainbase::inspect
