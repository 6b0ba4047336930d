#pragma once

#include <tools/inspect/memory/memory_tree.hpp>

#include <filesystem>

namespace chainbase::inspect {

/// The folder of RocksDB within the archive of a state: its column families with their levels, its
/// log files, and each other file. The sum of its files, whatever is known of them: those that no
/// family has now (a writer makes or drops them) stand by themselves, and so do all when the
/// archive cannot be read.
[[nodiscard]] memory_node rocksdb_tree(const std::filesystem::path& state);

/// The folder that rocksdb_tree() tells of.
[[nodiscard]] std::filesystem::path rocksdb_folder(const std::filesystem::path& state);

} // namespace chainbase::inspect
