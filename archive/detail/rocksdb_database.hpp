#pragma once

#include <archive/detail/rocksdb_options.hpp>
#include <archive/detail/store_folder.hpp>

#include <rocksdb/db.h>
#include <rocksdb/statistics.h>

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace chainbase::archive::detail {

/// An open RocksDB in the folder of a store, with all its column families: opens, checks that what
/// had been synced is there, makes families, syncs, closes.
///
/// Thread-safe but for make_family(), which must not run beside any other call.
class rocksdb_database {
public:
    using family_handle = rocksdb::ColumnFamilyHandle*;

    /// Throws what open_store() says.
    rocksdb_database(const std::filesystem::path& folder, const store_options& options);
    rocksdb_database(const rocksdb_database&) = delete;
    rocksdb_database& operator=(const rocksdb_database&) = delete;

    /// A writer's closing moves what is buffered into table files; when that fails the log keeps
    /// it.
    ~rocksdb_database();

    [[nodiscard]] rocksdb::DB& operator*() const noexcept { return *database_; }
    [[nodiscard]] rocksdb::DB* operator->() const noexcept { return database_.get(); }
    [[nodiscard]] bool read_only() const noexcept { return read_only_; }
    [[nodiscard]] const std::shared_ptr<rocksdb::Cache>& cache() const noexcept {
        return options_.cache;
    }

    [[nodiscard]] std::size_t hint_bytes() const noexcept { return options_.hint_bytes; }

    /// For messages: the kind and folder.
    [[nodiscard]] std::string name() const;
    [[nodiscard]] const store_folder& folder() const noexcept { return folder_; }

    /// All families, also the default one.
    [[nodiscard]] const std::vector<family_handle>& families() const noexcept { return handles_; }

    /// Returns nullptr when there is no such family. The handle lives as long as this object.
    [[nodiscard]] family_handle family(const std::string& name) const;

    /// Returns the family, made when it is missing.
    family_handle make_family(const std::string& name);

    /// All of `batch` is written, or nothing. After a failure of write() or sync() both return or
    /// throw that one and do nothing; reading goes on. What has been written is there when the
    /// store is opened again.
    [[nodiscard]] rocksdb::Status write(rocksdb::WriteBatch& batch, bool sync);

    /// The files, sorted, become part of the database, all or none, and are durable then, as is all
    /// that was written before. Fails as write() does, and what fails here write() fails with too.
    [[nodiscard]] rocksdb::Status ingest(const std::vector<rocksdb::IngestExternalFileArg>& files);
    /// A name in FOLDER/ingest for such a file, which is made like the database's own.
    [[nodiscard]] std::string new_ingest_file();
    [[nodiscard]] rocksdb::Options options_for_files() const {
        return options_.of_ingested_files();
    }

    [[nodiscard]] const rocksdb::Statistics& counters() const noexcept {
        return *options_.database.statistics;
    }

    /// Everything written before is durable when this returns; nothing is done when it is already.
    void sync();
    /// As sync(), through table files instead of the log.
    void flush();

private:
    void open_writer();
    void open_reader();
    void check_before_writing(const synced_mark& mark);
    void require_synced(const synced_mark& mark);
    rocksdb::Status open_or_create(bool create);
    rocksdb::Status open_for_reading();
    [[nodiscard]] rocksdb::Status check_log();
    [[nodiscard]] std::uint64_t first_needed_write();
    [[nodiscard]] rocksdb::Status list_families();
    void adopt(rocksdb::DB* database);
    void close_handles() noexcept;
    void flush_families();
    [[nodiscard]] rocksdb::Status flush_all();
    void drop_unfinished_ingest() const;
    void mark_synced(std::uint64_t sequence, bool closed);

    bool read_only_;
    store_folder folder_;
    rocksdb_options options_;
    std::vector<rocksdb::ColumnFamilyDescriptor> found_;
    std::vector<rocksdb::ColumnFamilyHandle*> handles_;
    std::map<std::string, family_handle, std::less<>> families_;
    std::unique_ptr<rocksdb::DB> database_;
    std::mutex marking_;             // of the folder's mark; before the other one
    std::uint64_t synced_up_to_ = 0; // which the mark has, while this writer is open
    std::uint64_t next_ingest_file_ = 0;
    std::mutex logging_; // what uses RocksDB's log takes turns
    rocksdb::Status log_status_;
};

} // namespace chainbase::archive::detail
