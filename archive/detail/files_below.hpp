#pragma once

#include <rocksdb/file_system.h>

#include <memory>

/// Where a test may put a disk of its own below RocksDB. The production library has no trace of it.
namespace chainbase::archive::fault {

#ifdef CHAINBASE_FAULT_INJECTION
inline std::shared_ptr<rocksdb::FileSystem> simulated_files;
inline std::shared_ptr<rocksdb::FileSystem> files_below() {
    return simulated_files ? simulated_files : rocksdb::FileSystem::Default();
}
#else
inline std::shared_ptr<rocksdb::FileSystem> files_below() {
    return rocksdb::FileSystem::Default();
}
#endif

} // namespace chainbase::archive::fault
