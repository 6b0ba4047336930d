#pragma once

#include <chainbase/checkpoint/outcome.hpp>

#include <filesystem>

namespace chainbase::archive::detail {

/// Copies the rocksdb store in the folder `archive` to the new folder `into`, file by file, as a
/// kill of its writer would leave it at one moment after this was called. Takes no lock and
/// changes nothing there; a writer may be at work, in this process or in another one. Every row
/// that was written before is in the copy.
///
/// How: RocksDB only appends to its log and its manifest, and never changes another file. So all
/// files are opened, and if none came or went meanwhile and the manifest did not grow, they belong
/// to one moment, each up to the length that it had then; else that is repeated. They stay readable
/// whatever the writer deletes while they are copied.
///
/// Throws format_error when there is no such store, io_error (also when the writer replaces files
/// again and again), out_of_space_error, and what `tell` throws.
void copy_rocksdb(const std::filesystem::path& archive, const std::filesystem::path& into,
                  const checkpoint::progress& tell);

} // namespace chainbase::archive::detail
