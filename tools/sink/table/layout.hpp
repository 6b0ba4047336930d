#pragma once

#include <chainbase/object/schema.hpp>
#include <chainbase/object/value_type.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

namespace chainbase::sink {

/// Whether its column is of bytes: a vector or an array of bytes, or of nothing; what is not
/// described.
[[nodiscard]] bool is_all_bytes(const rows::value_type& type);
/// A type that has nothing but this field.
[[nodiscard]] type_schema schema_of(const std::string& name, const rows::value_type::member& field);

/// @name A float as a double, and back, with all bits of NaN: a conversion may change them.
/// @{
[[nodiscard]] double widened(std::uint32_t bits);
[[nodiscard]] std::uint32_t narrowed(double value);
/// @}

} // namespace chainbase::sink
