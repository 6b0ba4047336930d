#pragma once

#include <filesystem>
#include <string>

namespace chainbase {

/// A path as a shell reads it, for the commands that messages name.
[[nodiscard]] std::string quoted(const std::filesystem::path& path);

} // namespace chainbase
