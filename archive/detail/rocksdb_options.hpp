#pragma once

#include <archive/store.hpp>

#include <rocksdb/cache.h>
#include <rocksdb/options.h>

#include <memory>

namespace chainbase::archive::detail {

/// How RocksDB is set up for an archive: written in batches, in the order of ids, seldom changed;
/// read at random, often for what is not there.
struct rocksdb_options {
    explicit rocksdb_options(const store_options& from);

    std::shared_ptr<rocksdb::Cache> cache;
    rocksdb::DBOptions database;
    rocksdb::ColumnFamilyOptions rows;
    rocksdb::ColumnFamilyOptions keys;
};

} // namespace chainbase::archive::detail
