#include <archive/detail/background_errors.hpp>
#include <archive/detail/private_file_system.hpp>
#include <archive/detail/rocksdb_log.hpp>
#include <archive/detail/rocksdb_options.hpp>

#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include <algorithm>

namespace chainbase::archive::detail {

namespace {

rocksdb::CompressionType best_compression() {
    const auto supported = rocksdb::GetSupportedCompressions();
    for (const auto wanted :
         {rocksdb::kZSTD, rocksdb::kLZ4Compression, rocksdb::kSnappyCompression})
        if (std::ranges::find(supported, wanted) != supported.end()) return wanted;
    return rocksdb::kNoCompression;
}

// Filters and indexes are in partitions of a block each, read through the cache like data: an
// archive of any size costs no more memory than the cache. Only their top levels stay.
rocksdb::BlockBasedTableOptions table_options(const std::shared_ptr<rocksdb::Cache>& cache) {
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = cache;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10)); // 1 % false hits
    table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
    table.partition_filters = true;
    table.cache_index_and_filter_blocks = true;
    table.cache_index_and_filter_blocks_with_high_priority = true;
    table.pin_top_level_index_and_filter = true;
    table.format_version = 5;
    return table;
}

rocksdb::ColumnFamilyOptions family(const rocksdb::BlockBasedTableOptions& table,
                                    std::size_t buffer_bytes) {
    rocksdb::ColumnFamilyOptions options;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    options.compression = best_compression();
    options.level_compaction_dynamic_level_bytes = true;
    // Each put asks whether the row and its keys are new, mostly of what is still buffered: a
    // filter over the buffer answers without a walk through its list (11.9 -> 7.3 us of CPU per put
    // row). It is small, as is the arena's block, since every family has a buffer of its own.
    options.write_buffer_size = buffer_bytes / 4;
    options.memtable_prefix_bloom_size_ratio = 0.01;
    options.memtable_whole_key_filtering = true;
    options.arena_block_size = std::size_t{64} << 10;
    return options;
}

} // namespace

rocksdb_options::rocksdb_options(const store_options& from, const std::filesystem::path& folder)
    : cache(rocksdb::NewLRUCache(from.cache_bytes, -1, false, 0.3)) {
    const auto table = table_options(cache);
    rows = family(table, from.write_buffer_bytes);
    keys = family(table, from.write_buffer_bytes);

    if (!from.read_only) {
        files = rocksdb::NewCompositeEnv(std::make_shared<private_file_system>(folder));
        database.env = files.get();
    }
    database.db_write_buffer_size = from.write_buffer_bytes;
    database.max_total_wal_size = 4 * from.write_buffer_bytes; // bounds the log an open reads
    database.max_open_files = from.max_open_files;
    database.max_file_opening_threads = 1;
    database.max_background_jobs = 2;
    // Up to the first record that is not whole: whether something synced is gone is checked apart.
    database.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
    database.track_and_verify_wals_in_manifest = true; // a synced log that is missing is noticed
    database.info_log = std::make_shared<rocksdb_log>();
    database.listeners.push_back(std::make_shared<background_errors>());
    database.stats_dump_period_sec = 0;
    database.stats_persist_period_sec = 0;
}

} // namespace chainbase::archive::detail
