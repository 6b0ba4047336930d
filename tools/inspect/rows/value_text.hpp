#pragma once

#include <chainbase/rows/value_type.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace chainbase::inspect {

/// @name Single values as JSON, in the forms that class row_format lists
/// @{
void append_number(std::string& to, const rows::value_type& type, const std::byte* at);
void append_float(std::string& to, const rows::value_type& type, const std::byte* at);
void append_text(std::string& to, std::string_view text);
void append_hex(std::string& to, std::span<const std::byte> bytes);
/// @}

} // namespace chainbase::inspect
