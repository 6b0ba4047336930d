#include <archive/rocksdb/database.hpp>
#include <archive/rocksdb/store.hpp>
#include <archive/store.hpp>
#include <pool_allocator/base/files.hpp>

#include <rocksdb/metadata.h>
#include <rocksdb/table_properties.h>
#include <rocksdb/transaction_log.h>

#include <filesystem>
#include <system_error>

namespace chainbase::archive {

namespace detail {

namespace {

using family_handle = rocksdb_database::family_handle;

std::vector<rocksdb_family::level> levels_of(const rocksdb_database& database,
                                             family_handle family) {
    rocksdb::ColumnFamilyMetaData found;
    database->GetColumnFamilyMetaData(family, &found);
    std::vector<rocksdb_family::level> levels;
    for (const rocksdb::LevelMetaData& level : found.levels)
        levels.push_back({level.files.size(), level.size});
    return levels;
}

void add_files(const rocksdb_database& database, family_handle family, rocksdb_family& to) {
    rocksdb::TablePropertiesCollection files;
    check_status(database->GetPropertiesOfAllTables(family, &files), [&] {
        return database.name() + ": read the properties of the files of \"" + to.name + "\"";
    });
    for (const auto& [file, found] : files) {
        to.entries += found->num_entries;
        to.content += found->raw_key_size + found->raw_value_size;
        to.data += found->data_size;
        to.filters += found->filter_size;
        to.indexes += found->index_size;
    }
}

rocksdb_family describe(const rocksdb_database& database, family_handle family) {
    rocksdb_family told;
    told.name = family->GetName();
    told.levels = levels_of(database, family);
    add_files(database, family, told);
    database->GetIntProperty(family, rocksdb::DB::Properties::kCurSizeActiveMemTable,
                             &told.buffered);
    return told;
}

/// Of what is there at the moment: RocksDB's own list leaves out what a writer is about to drop.
void count_logs(const std::filesystem::path& folder, rocksdb_facts& to) {
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
        std::error_code gone;
        if (file.path().extension() != ".log") continue;
        const std::uint64_t bytes = file.file_size(gone);
        if (gone) continue;
        ++to.log_files;
        to.log_bytes += bytes;
    }
}

} // namespace

rocksdb_facts facts_of(const rocksdb_database& database) {
    rocksdb_facts told;
    told.format = read_file(database.folder().path() / "format");
    told.is_being_written = database.folder().is_being_written();
    const synced_mark mark = database.folder().mark().value_or(synced_mark());
    told.closed = mark.closed;
    told.synced = mark.sequence;
    told.last_write = database->GetLatestSequenceNumber();
    count_logs(database.folder().rocksdb(), told);
    for (const family_handle family : database.families())
        told.families.push_back(describe(database, family));
    return told;
}

std::uint64_t table_files(const rocksdb_database& database) {
    std::uint64_t files = 0;
    for (const family_handle family : database.families())
        for (const rocksdb_family::level& level : levels_of(database, family))
            files += level.files;
    return files;
}

} // namespace detail

rocksdb_family::level rocksdb_family::all_levels() const noexcept {
    level all;
    for (const level& one : levels) {
        all.files += one.files;
        all.bytes += one.bytes;
    }
    return all;
}

std::optional<rocksdb_statistics> engine_of(const store& rows) {
    const auto* const on_disk = dynamic_cast<const rocksdb_store*>(&rows);
    if (!on_disk) return std::nullopt;
    return on_disk->engine();
}

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
