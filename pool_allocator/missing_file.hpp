#pragma once

#include <filesystem>

namespace chainbase {

/// Throws damaged_error, which says what to do, when a file that belongs to a state is not there.
void require_there(const std::filesystem::path& file);

} // namespace chainbase
