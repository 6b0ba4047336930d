#pragma once

#include <archive/rocksdb/store.hpp>
#include <archive/rocksdb/store_folder.hpp>
#include <archive/store.hpp>
#include <pool_allocator/base/process_of_origin.hpp>

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/statistics.h>
#include <rocksdb/status.h>
#include <rocksdb/wal_filter.h>
#include <rocksdb/write_batch.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

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

namespace chainbase::archive::detail {

/// Throws the error a status that is not ok stands for: out_of_space_error, damaged_error or, for
/// everything else, io_error. `where` names the store and the table and key or operation.
[[noreturn]] void throw_status(const rocksdb::Status& status, const std::string& where);

/// Throws when `status` is not ok; `where()` makes the text only then.
template <typename Where>
void check_status(const rocksdb::Status& status, Where&& where) {
    if (!status.ok()) throw_status(status, where());
}

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

/// Ends the recovery of a log where writes are missing, which their numbers tell. For one recovery;
/// RocksDB has its address until the database is closed.
class gapless_log final : public rocksdb::WalFilter {
public:
    explicit gapless_log(std::string store) : store_(std::move(store)) {}

    [[nodiscard]] const char* Name() const override { return "gapless_log"; }
    WalProcessingOption LogRecordFound(unsigned long long number, const std::string& log,
                                       const rocksdb::WriteBatch& batch,
                                       rocksdb::WriteBatch* replacement, bool* replaced) override;

private:
    std::string store_;
    std::uint64_t next_ = 0; ///< the number of the write that must follow
};

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
    /// it. In a process that was forked, where RocksDB's threads are not, nothing is closed.
    ~rocksdb_database();

    [[nodiscard]] rocksdb::DB& operator*() const noexcept { return *database_; }
    [[nodiscard]] rocksdb::DB* operator->() const noexcept { return database_.get(); }
    [[nodiscard]] bool read_only() const noexcept { return read_only_; }
    [[nodiscard]] bool is_here() const noexcept { return origin_.is_here(); }
    /// Throws usage_error in another process than the one that opened it.
    void require_here() const {
        if (!is_here()) [[unlikely]]
            origin_.require_here(name());
    }
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
    [[nodiscard]] rocksdb::Status list_families();
    void adopt(rocksdb::DB* database);
    void close_handles() noexcept;
    void flush_families();
    [[nodiscard]] rocksdb::Status flush_all();
    void drop_unfinished_ingest() const;
    void mark_synced(std::uint64_t sequence, bool closed);

    process_of_origin origin_;
    bool read_only_;
    store_folder folder_;
    rocksdb_options options_;
    std::vector<rocksdb::ColumnFamilyDescriptor> found_;
    std::vector<rocksdb::ColumnFamilyHandle*> handles_;
    std::map<std::string, family_handle, std::less<>> families_;
    gapless_log log_filter_{{}};
    std::unique_ptr<rocksdb::DB> database_;
    std::mutex marking_;             // of the folder's mark; before the other one
    std::uint64_t synced_up_to_ = 0; // which the mark has, while this writer is open
    std::uint64_t next_ingest_file_ = 0;
    std::mutex logging_; // what uses RocksDB's log takes turns
    rocksdb::Status log_status_;
};

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

class rocksdb_database;

/// What rocksdb_store::facts() returns and throws.
[[nodiscard]] rocksdb_facts facts_of(const rocksdb_database& database);

/// How many table files there are now, of all families.
[[nodiscard]] std::uint64_t table_files(const rocksdb_database& database);

} // namespace chainbase::archive::detail
