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

    std::unique_ptr<rocksdb::Env> files; ///< a writer's: what it makes is for the folder's readers
    std::shared_ptr<rocksdb::Cache> cache;
    rocksdb::DBOptions database;
    rocksdb::ColumnFamilyOptions rows;
    rocksdb::ColumnFamilyOptions keys;
};

} // namespace chainbase::archive::detail
