#pragma once

#include <chainbase/catalogue.hpp>

#include <filesystem>
#include <string>

namespace chainbase {

/// The types that a text lists, as catalogue::text() writes it. `file` is where it is from, for
/// messages. Throws damaged_error (with the offset), format_error.
[[nodiscard]] catalogue catalogue_of(const std::string& text, const std::filesystem::path& file);

} // namespace chainbase
