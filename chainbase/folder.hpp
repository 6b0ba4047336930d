#pragma once

#include <filesystem>
#include <string>
#include <vector>

/// Folders, where the C++ library's own functions end the process when memory is short: its
/// directory_iterator, on which remove_all rests, makes names in a noexcept function.
namespace chainbase {

/// The names of what is in `folder`, in no order. Throws io_error.
[[nodiscard]] std::vector<std::string> names_in(const std::filesystem::path& folder);

/// Removes what has this name, with all that is in it, and follows no link. There need not be
/// anything. Throws io_error.
void remove_tree(const std::filesystem::path& name);

/// The same as far as it goes.
void try_to_remove_tree(const std::filesystem::path& name) noexcept;

} // namespace chainbase
