#pragma once

#include <filesystem>

namespace chainbase {

/// Throws usage_error when something of that name exists.
void require_free(const std::filesystem::path& path);

/// Renames what was made under a name of its own, file or folder, never over something that
/// appeared while the work went on: throws usage_error then, and io_error when the system refuses.
void give_final_name(const std::filesystem::path& temporary, const std::filesystem::path& path);

/// A new name is on the device when its folder is. Throws io_error.
void sync_folder_of(const std::filesystem::path& path);

} // namespace chainbase
