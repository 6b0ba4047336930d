#pragma once

#include <filesystem>
#include <string_view>

namespace chainbase {

/// Throws what the failed system call of this thread stands for, naming it, the file and what to do
/// next: out_of_space_error for a full disk, a used-up quota or a file that may not be so long,
/// else io_error.
[[noreturn]] void throw_file_error(const std::filesystem::path& file, std::string_view what);

} // namespace chainbase
