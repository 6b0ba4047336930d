#include <archive/rocksdb/database.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/private_folder.hpp>

#include <rocksdb/convenience.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

namespace chainbase::archive::detail {

namespace {

using rocksdb::IOStatus;

/// The operating system's files as RocksDB uses them, except for the permissions of new files:
/// whoever may read the store's folder may read them, whatever the umask. Thread-safe.
class private_file_system final : public rocksdb::FileSystemWrapper {
public:
    /// For a store in `folder`. Throws as private_folder does.
    explicit private_file_system(const std::filesystem::path& folder)
        : FileSystemWrapper(fault::files_below()), folder_(folder, /*writing=*/true) {}

    [[nodiscard]] const char* Name() const override { return "private_file_system"; }

    IOStatus NewWritableFile(const std::string& file, const rocksdb::FileOptions& options,
                             std::unique_ptr<rocksdb::FSWritableFile>* result,
                             rocksdb::IODebugContext* debug) override {
        return adopt(FileSystemWrapper::NewWritableFile(file, options, result, debug), file);
    }
    IOStatus ReopenWritableFile(const std::string& file, const rocksdb::FileOptions& options,
                                std::unique_ptr<rocksdb::FSWritableFile>* result,
                                rocksdb::IODebugContext* debug) override {
        return adopt(FileSystemWrapper::ReopenWritableFile(file, options, result, debug), file);
    }
    IOStatus CreateDir(const std::string& folder, const rocksdb::IOOptions& options,
                       rocksdb::IODebugContext* debug) override {
        return adopt(FileSystemWrapper::CreateDir(folder, options, debug), folder);
    }
    IOStatus CreateDirIfMissing(const std::string& folder, const rocksdb::IOOptions& options,
                                rocksdb::IODebugContext* debug) override {
        return adopt(FileSystemWrapper::CreateDirIfMissing(folder, options, debug), folder);
    }
    IOStatus LockFile(const std::string& file, const rocksdb::IOOptions& options,
                      rocksdb::FileLock** lock, rocksdb::IODebugContext* debug) override {
        return adopt(FileSystemWrapper::LockFile(file, options, lock, debug), file);
    }

private:
    /// When `made` says that it is there.
    [[nodiscard]] IOStatus adopt(IOStatus made, const std::string& path) const {
        if (!made.ok()) return made;
        try {
            folder_.adopt(path);
        } catch (const error& failed) {
            return IOStatus::IOError(failed.what());
        }
        return made;
    }

    private_folder folder_;
};

/// What RocksDB notes about its work goes to our log, at the level debug, in place of its file LOG.
/// That one is on the archive's disk, and RocksDB 7.8 ends the process when it cannot be written.
///
/// Thread-safe.
class rocksdb_log final : public rocksdb::Logger {
public:
    rocksdb_log() : Logger(rocksdb::InfoLogLevel::WARN_LEVEL) {}

    void Logv(rocksdb::InfoLogLevel level, const char* format, va_list values) override {
        const bool is_header = level == rocksdb::InfoLogLevel::HEADER_LEVEL; // all options
        if (is_header || level < GetInfoLogLevel() || !spdlog::should_log(spdlog::level::debug))
            return;
        std::array<char, 1024> line{}; // what is longer is cut
        std::vsnprintf(line.data(), line.size(), format, values);
        std::string_view text(line.data());
        while (text.ends_with('\n'))
            text.remove_suffix(1);
        spdlog::debug("archive: RocksDB: {}", text);
    }
};

/// Says what fails in RocksDB's own threads, which no call returns. Only the merging of table files
/// goes on by itself once there is room: after other failures RocksDB would take writes again with
/// a log that it cannot write to, and so the store has to be opened again.
///
/// Thread-safe.
class background_errors final : public rocksdb::EventListener {
public:
    void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* error) override {
        using enum rocksdb::BackgroundErrorReason;
        if (reason == kWriteCallback || reason == kMemTable) return; // whose writer is told
        const bool is_merging = reason == kCompaction;
        spdlog::error(
            "archive: RocksDB: {}: {}; no written row is lost, {}",
            is_merging ? "merging table files" : "writing a table file", error->ToString(),
            is_merging ? "and RocksDB tries again" : "but RocksDB accepts no more writes");
    }
    void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason reason, rocksdb::Status,
                              bool* by_itself) override {
        *by_itself = reason == rocksdb::BackgroundErrorReason::kCompaction;
    }
};

rocksdb::CompressionType first_supported(std::initializer_list<rocksdb::CompressionType> list) {
    const auto supported = rocksdb::GetSupportedCompressions();
    for (const auto wanted : list)
        if (std::ranges::find(supported, wanted) != supported.end()) return wanted;
    return rocksdb::kNoCompression;
}

// Filters: a lookup of a key that is nowhere is to cost no search. 10 bits a key are 1 % of false
// hits. Ribbon filters take 7 bits for the same and a little more CPU when they are built; files
// fresh from the buffer, which are soon merged, have Bloom filters.
//
// Filters and indexes are whole and stay in memory while their file is open, beside the cache: 2.7
// bytes a row. In partitions read through the cache a lookup has two blocks more to find: median
// 3.8 against 3.3 us by id, 1.9 against 0.6 us for a key that is nowhere (0.4 M rows, all cached).
// And a lookup with a cold cache reads one block, the row's, not three.
//
// Blocks of 4 KiB are the default of RocksDB. Those of 2 KiB were no faster to search, with a hash
// index in them or without, and took 68 bytes a row on disk in place of 58; those of 16 KiB 54, as
// fast while all is cached, but four times the work and cache for a row that is not.
rocksdb::BlockBasedTableOptions table_options(const std::shared_ptr<rocksdb::Cache>& cache) {
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = cache;
    table.filter_policy.reset(rocksdb::NewRibbonFilterPolicy(10, 1));
    table.cache_index_and_filter_blocks = false;
    table.format_version = 5;
    return table;
}

rocksdb::CompressionType cheap_compression() {
    return first_supported({rocksdb::kLZ4Compression, rocksdb::kSnappyCompression});
}

// Cheap for what is new and merged soon, small for what was merged, where nearly all rows are.
void compress(rocksdb::ColumnFamilyOptions& options) {
    const auto small =
        first_supported({rocksdb::kZSTD, rocksdb::kLZ4Compression, rocksdb::kSnappyCompression});
    options.compression = small;
    options.compression_per_level.assign(static_cast<std::size_t>(options.num_levels), small);
    options.compression_per_level[0] = cheap_compression(); // from the buffer
    options.bottommost_compression = small;
}

// What is written is merged with what is about as large (universal compaction). Keys come in any
// order and ids in the order in which objects finish, so each file overlaps with most others: in
// levels every row was written five times over, 18 us of CPU a row all in all, and batches waited
// up to 2 s for merges; by size once over, 6.5 us, 83 ms (0.9 M rows in batches of 20,000). A merge
// of everything needs as much room again for a while. Up to 16 files at one place cost a lookup
// nothing that could be measured, thanks to their filters.
void merge_by_size(rocksdb::ColumnFamilyOptions& options) {
    options.compaction_style = rocksdb::kCompactionStyleUniversal;
    options.compaction_options_universal.allow_trivial_move = true;
    options.level0_file_num_compaction_trigger = 16;
    options.level0_slowdown_writes_trigger = 64;
    options.level0_stop_writes_trigger = 128;
}

rocksdb::ColumnFamilyOptions family(const rocksdb::BlockBasedTableOptions& table,
                                    std::size_t buffer_bytes) {
    rocksdb::ColumnFamilyOptions options;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    compress(options);
    merge_by_size(options);
    // Each put asks whether its keys are new, mostly of what is still buffered: a filter over the
    // buffer answers without a walk through its list (11.9 -> 7.3 us of CPU per put row). It is
    // small, as is the arena's block, since every family has a buffer of its own.
    options.write_buffer_size = buffer_bytes / 4;
    options.memtable_prefix_bloom_size_ratio = 0.01;
    options.memtable_whole_key_filtering = true;
    options.arena_block_size = std::size_t{64} << 10;
    return options;
}

// One for writing buffers, the rest for merging; not more than there are cores.
int background_jobs() {
    return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 4u));
}

// Counters cost nothing that could be measured; timers are left out.
std::shared_ptr<rocksdb::Statistics> counters() {
    auto made = rocksdb::CreateDBStatistics();
    made->set_stats_level(rocksdb::StatsLevel::kExceptHistogramOrTimers);
    return made;
}

} // namespace

// LZ4 in place of zstd: 2.0 us of CPU a row in place of 3.0, and 4 % more on disk in the end, since
// most are merged once (0.9 M rows).
rocksdb::Options rocksdb_options::of_ingested_files() const {
    rocksdb::Options options(database, table);
    options.bottommost_compression = cheap_compression();
    return options;
}

// An eighth of what is for the cache goes to the hints: they save one of the two reads of a lookup
// by key, in 8 bytes for a row that takes 180 in blocks.
rocksdb_options::rocksdb_options(const store_options& from, const std::filesystem::path& folder)
    : cache(rocksdb::NewLRUCache(from.cache_bytes - from.cache_bytes / 8, -1, false, 0)),
      hint_bytes(from.cache_bytes / 8) {
    table = family(table_options(cache), from.write_buffer_bytes);

    if (!from.read_only) {
        files = rocksdb::NewCompositeEnv(std::make_shared<private_file_system>(folder));
        database.env = files.get();
    }
    database.db_write_buffer_size = from.write_buffer_bytes;
    database.max_total_wal_size = 4 * from.write_buffer_bytes; // bounds the log an open reads
    // Of tables: 256 of 64 MiB are 280 million rows. A file beyond is closed, and its filter and
    // index read again when it is needed. That files may close costs a lookup nothing (3.3 us).
    database.max_open_files = from.max_open_files;
    database.max_file_opening_threads = 1;
    database.max_background_jobs = background_jobs();
    database.statistics = counters();
    // Up to the first record that is not whole: whether something synced is gone is checked apart.
    database.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
    database.track_and_verify_wals_in_manifest = true; // a synced log that is missing is noticed
    database.info_log = std::make_shared<rocksdb_log>();
    database.listeners.push_back(std::make_shared<background_errors>());
    database.stats_dump_period_sec = 0;
    database.stats_persist_period_sec = 0;
}

} // namespace chainbase::archive::detail
