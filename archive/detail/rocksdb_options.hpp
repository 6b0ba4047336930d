#pragma once

#include <archive/store.hpp>

#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>

#include <filesystem>
#include <memory>

namespace chainbase::archive::detail {

/// How RocksDB is set up for an archive: written in batches, in the order of ids, seldom changed;
/// read at random, often for what is not there.
struct rocksdb_options {
    /// Of a store in `folder`. Throws as private_folder does.
    rocksdb_options(const store_options& from, const std::filesystem::path& folder);

    [[nodiscard]] rocksdb::Options of_ingested_files() const;

    std::unique_ptr<rocksdb::Env> files; ///< a writer's: what it makes is for the folder's readers
    std::shared_ptr<rocksdb::Cache> cache; ///< of data blocks, for all tables
    std::size_t hint_bytes;                ///< for rocksdb_key_hints
    rocksdb::DBOptions database;
    rocksdb::ColumnFamilyOptions table; ///< of every column family
};

} // namespace chainbase::archive::detail
