#pragma once

#include <string_view>

/// Files that the program carries; chainbase_embed (embed.cmake) makes the definitions.
namespace chainbase::inspect {

extern const std::string_view treemap_page; ///< treemap.html

} // namespace chainbase::inspect
