#pragma once

#include <chainbase/state_root/state_tree.hpp>

#include <cstddef>
#include <filesystem>
#include <optional>

/// The leaves of a state's root, in a file beside the state. It is written where a state is closed,
/// so that the next opening need not read all objects, and an inspector can name those that are not
/// what the root commits to. It can be removed at any time. FORMAT.md has its bytes.
namespace chainbase::state_root {

/// Its name in the state's folder.
inline constexpr const char* leaves_file_name = "state_root.leaves";
/// What an object takes in it.
inline constexpr std::size_t bytes_of_leaf = 36;

/// Replaces the file, for those who may read the state (private_folder). It is not synced: what a
/// power loss leaves of it is not of the root. Throws access_error, io_error, out_of_space_error;
/// then there is none, unless the old one could not be removed.
void write_leaves(const std::filesystem::path& file, const state_tree& of);

/// The tree whose leaves are in the file; nothing unless it has this root, whatever the file has.
/// `threads` threads hash beside the caller. Throws access_error, io_error when it cannot be read,
/// limit_error when no thread can be started, std::bad_alloc.
[[nodiscard]] std::optional<state_tree> read_leaves(const std::filesystem::path& file,
                                                    const sha256_digest& root, unsigned threads);

} // namespace chainbase::state_root
