#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace chainbase::archive {

/// A table file of a store on disk, and whose it is.
struct rocksdb_file {
    std::string name;   ///< in FOLDER/rocksdb: "000012.sst"
    std::string family; ///< that of a table is "table/NAME"
    unsigned level = 0; ///< of the merging: the higher, the older
};

/// Those of the store in `folder` that are in use now, also beside its writer, who may make and
/// drop some meanwhile. Opens the store read-only, looks into no file's content and changes
/// nothing. Throws what opening a store read-only throws.
[[nodiscard]] std::vector<rocksdb_file> rocksdb_files_in(const std::filesystem::path& folder);

} // namespace chainbase::archive
