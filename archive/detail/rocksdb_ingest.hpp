#pragma once

#include <archive/detail/rocksdb_database.hpp>

#include <rocksdb/sst_file_writer.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace chainbase::archive::detail {

/// A large batch on its way into a RocksDB as sorted files, past its log and its write buffer.
///
///     begin(family) put(...) put(...)   begin(family) put(...) ...   finish()
///
/// Entries rise within a file, and files of one family do not overlap. Until finish() the files are
/// only names in FOLDER/ingest, which a writer empties when it opens; those of one that failed go
/// with this object. finish() makes all of them part of the database, or none, and durable.
///
/// Not thread-safe. Every function throws as check_status does.
class rocksdb_ingest {
public:
    explicit rocksdb_ingest(rocksdb_database& into) : into_(into) {}
    ~rocksdb_ingest();
    rocksdb_ingest(const rocksdb_ingest&) = delete;
    rocksdb_ingest& operator=(const rocksdb_ingest&) = delete;

    /// What follows goes into a new file of `family`.
    void begin(rocksdb_database::family_handle family);
    void put(const rocksdb::Slice& key, const rocksdb::Slice& value);
    void erase(const rocksdb::Slice& key);
    /// Returns how many bytes the files have.
    std::uint64_t finish();

private:
    void end_file();
    void check(const rocksdb::Status& status) const;

    rocksdb_database& into_;
    std::unique_ptr<rocksdb::SstFileWriter> writer_;
    std::vector<rocksdb::IngestExternalFileArg> files_;
    std::uint64_t bytes_ = 0;
    std::string file_; ///< which writer_ writes
};

} // namespace chainbase::archive::detail
