#include <archive/detail/rocksdb_database.hpp>
#include <archive/rocksdb_files.hpp>
#include <archive/store.hpp>

#include <rocksdb/metadata.h>

namespace chainbase::archive {

std::vector<rocksdb_file> rocksdb_files_in(const std::filesystem::path& folder) {
    store_options options;
    options.cache_bytes = std::size_t{1} << 20;
    options.read_only = true;
    const detail::rocksdb_database database(folder, options);
    std::vector<rocksdb::LiveFileMetaData> found;
    database->GetLiveFilesMetaData(&found);
    std::vector<rocksdb_file> files;
    for (const rocksdb::LiveFileMetaData& each : found) {
        const std::string name = std::filesystem::path(each.name).filename(); // begins with '/'
        files.push_back({name, each.column_family_name, static_cast<unsigned>(each.level)});
    }
    return files;
}

} // namespace chainbase::archive
