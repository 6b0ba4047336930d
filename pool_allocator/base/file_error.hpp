#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace chainbase {

/// Throws the error for this thread's failed system call (errno), naming the call, the file and
/// what to do next: out_of_space_error for a full disk, a used-up quota or a file that may not be
/// so long, else io_error.
[[noreturn]] void throw_file_error(const std::filesystem::path& file, std::string_view what);

/// Throws damaged_error, saying what to do, when a file of a state is missing.
void require_there(const std::filesystem::path& file);

/// A path quoted for a shell, for the commands in messages.
[[nodiscard]] std::string quoted(const std::filesystem::path& path);

} // namespace chainbase
