#pragma once

#include <archive/store.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::archive {

/// RocksDB's own figures, those that say whether a store is set up well. Bytes are bytes.
struct rocksdb_statistics {
    std::uint64_t row_hits = 0;      ///< rows that were read lately and kept
    std::uint64_t block_hits = 0;    ///< data blocks that the cache had
    std::uint64_t block_misses = 0;  ///< that were read from a file
    std::uint64_t filter_hits = 0;   ///< files that a filter kept from being searched
    std::uint64_t filter_misses = 0; ///< that were searched in vain all the same
    std::uint64_t log_bytes = 0;     ///< written to the log
    std::uint64_t flushed_bytes = 0; ///< from the buffer to table files
    std::uint64_t ingested_bytes = 0;
    std::uint64_t compacted_bytes = 0; ///< written by merging table files
    std::uint64_t merges = 0;          ///< under way or due now
    std::uint64_t stalled_us = 0;      ///< that writers waited for flushing and merging
    std::uint64_t cache_bytes = 0;     ///< in the cache now
    std::uint64_t reader_bytes = 0;    ///< filters and indexes in memory now
    std::uint64_t buffer_bytes = 0;    ///< in write buffers now
    std::uint64_t hint_bytes = 0;      ///< for where keys led
    std::uint64_t files = 0;           ///< table files now
    std::uint64_t file_bytes = 0;      ///< of all table files now
};

/// What RocksDB holds of one column family.
struct rocksdb_family {
    struct level {
        std::uint64_t files = 0;
        std::uint64_t bytes = 0;
    };
    std::string name;           ///< that of a table is "table/NAME"
    std::vector<level> levels;  ///< as many as there may be
    std::uint64_t entries = 0;  ///< of files: rows, keys, counts, what replaced or erased them
    std::uint64_t content = 0;  ///< bytes of these entries, not compressed
    std::uint64_t data = 0;     ///< bytes that they take in files, compressed
    std::uint64_t filters = 0;  ///< bytes of filters in files
    std::uint64_t indexes = 0;  ///< bytes of indexes in files
    std::uint64_t buffered = 0; ///< bytes in memory, in the log otherwise

    [[nodiscard]] level all_levels() const noexcept;
};

/// Where a store stands on disk.
struct rocksdb_facts {
    std::string format;  ///< what its file `format` says
    bool closed = false; ///< and nothing was written since
    bool is_being_written = false;
    std::uint64_t synced = 0;     ///< the last write that is known to be durable
    std::uint64_t last_write = 0; ///< that is there
    std::uint64_t log_files = 0;
    std::uint64_t log_bytes = 0;
    std::vector<rocksdb_family> families; ///< "default" has the list of tables
};

/// A store on disk, kept by RocksDB; store.cpp draws what lies where.
///
/// One writer per folder, and any number of read-only stores beside it: those see what was written
/// before they were opened. Closing a written store flushes it, so that the next open reads no log;
/// a process that dies without leaves the log, and the next open applies it.
class rocksdb_store final : public store {
public:
    /// Opens or makes the store at `folder`; throws what open_store() says.
    rocksdb_store(const std::filesystem::path& folder, const store_options& options);
    ~rocksdb_store() override;

    [[nodiscard]] std::string name() const override;
    [[nodiscard]] store_kind kind() const noexcept override { return store_kind::rocksdb; }
    [[nodiscard]] bool outlives_process() const noexcept override { return true; }
    [[nodiscard]] bool has_to_sync() const noexcept override;

    /// What RocksDB has done since the store was opened, and what it holds now.
    [[nodiscard]] rocksdb_statistics engine() const;

    /// Reads the properties of every table file. Throws io_error, damaged_error.
    [[nodiscard]] rocksdb_facts facts() const;

    /// Calls visit(id, row) for every row of a table, in the order of ids, as it is stored: the
    /// record and its keys (write_batch.hpp). Throws as the cursor of rows() does.
    void each_stored(table_id table,
                     const std::function<void(std::uint32_t, bytes_view)>& visit) const;

    /// Reads every table file and compares each of its blocks with its checksum. Throws
    /// damaged_error, io_error.
    void verify_files() const;

protected:
    void create_table(const table_description& table) override;
    write_totals apply(const write_batch& batch) override;
    std::optional<pinned_row> read(table_id table, std::uint32_t id) const override;
    std::optional<pinned_row> read(table_id table, std::uint32_t index, bytes_view key,
                                   const row_predicate& counts) const override;
    std::uint64_t row_count(table_id table) const override;
    std::unique_ptr<row_cursor_source> scan(table_id table, std::uint32_t from) const override;
    std::unique_ptr<key_cursor_source> scan(table_id table, std::uint32_t index,
                                            bytes_view from) const override;
    void make_durable(bool empty_buffers) override;

private:
    struct parts; // everything of RocksDB's, so that its headers stay out of this one
    class state;
    class entries;
    class row_entries;
    class key_entries;

    std::unique_ptr<parts> parts_;
};

/// RocksDB's own figures, if it is what keeps the rows.
[[nodiscard]] std::optional<rocksdb_statistics> engine_of(const store& rows);

/// A table file of a store on disk, and whose it is.
struct rocksdb_file {
    std::string name;   ///< in FOLDER/rocksdb: "000012.sst"
    std::string family; ///< that of a table is "table/NAME"
    unsigned level = 0; ///< of the merging: the higher, the older
};

/// The table files of the store in `folder` in use now, also beside its writer, which may add and
/// drop some meanwhile. Opens the store read-only, looks into no file's content and changes
/// nothing. Throws what opening a store read-only throws.
[[nodiscard]] std::vector<rocksdb_file> rocksdb_files_in(const std::filesystem::path& folder);

} // namespace chainbase::archive
