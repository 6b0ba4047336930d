#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace chainbase {

/// Throws what the failed system call of this thread stands for, naming it, the file and what to do
/// next: out_of_space_error for a full disk, a used-up quota or a file that may not be so long,
/// else io_error.
[[noreturn]] void throw_file_error(const std::filesystem::path& file, std::string_view what);

/// Throws damaged_error, which says what to do, when a file that belongs to a state is not there.
void require_there(const std::filesystem::path& file);

/// A path as a shell reads it, for the commands that messages name.
[[nodiscard]] std::string quoted(const std::filesystem::path& path);

} // namespace chainbase
