#pragma once

#include <archive/record/bytes.hpp>
#include <archive/record/rows.hpp>
#include <archive/statistics.hpp>
#include <archive/write_batch.hpp>
#include <chainbase/fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::archive {

class statistics_page;

/// Which engine keeps the rows.
enum class store_kind {
    rocksdb, ///< on disk
    memory,  ///< in the state itself: for chains that archive little
    none     ///< nowhere: finished objects stay in memory as they are
};

/// Returns the kind called "rocksdb", "memory" or "none"; throws usage_error for another name.
[[nodiscard]] store_kind store_kind_of(std::string_view name);
[[nodiscard]] std::string_view to_string(store_kind kind) noexcept;

/// What a store knows of a table.
struct table_description {
    std::string name;
    std::vector<std::string> key_names; ///< key number i is key_names[i]
};

/// Whether the row with this id counts.
using row_predicate = std::function<bool(std::uint32_t)>;

/// Where finished objects are kept: tables of rows, found by a 32-bit id and by secondary keys. The
/// caller defines the meaning of the bytes: see record.hpp and key.hpp.
///
/// Invariants:
///  1. A batch is applied whole or not at all, also across kill -9. After write() returned, a dead
///     process loses nothing of it; after sync() returned, a power cut does not either.
///  2. The same row written twice is there once: batches may be repeated after a crash.
///  3. A key leads to the rows whose last put named it. Where that is more than one, it is the
///     caller's to say which counts; find() takes the newest, which has the greatest id. So an
///     object that was deleted and made again with its key goes beside the one before, which a
///     state of an earlier time still finds. Keys that many rows share end with the row's id.
///  4. count() is exact.
///  5. "Not there" is only ever said when the store was read and the row is not in it. A store that
///     cannot be read throws, and the message names store, table and key.
///
/// Thread-safety: any number of threads may find, scan and count while others write; writes queue
/// up. open_table() must not run beside any other call.
///
/// Every function throws io_error when the disk fails, out_of_space_error when it is full,
/// damaged_error when what is read is not what was written, and usage_error for a table or key
/// number the store does not have; a write that throws has not been applied.
class store {
public:
    store();
    store(const store&) = delete;
    store& operator=(const store&) = delete;
    virtual ~store();

    /// Returns the table of this name; makes it when there is none. Tables stay, whoever opens the
    /// store next. Names are of 1 to 200 printable characters without '/'.
    /// Throws schema_error when the table has other keys, usage_error for a bad name and for a new
    /// table in a read-only store.
    table_id open_table(std::string_view name, std::vector<std::string> key_names = {});

    /// All tables, those of earlier runs too; table_id{i} is tables()[i].
    [[nodiscard]] const std::vector<table_description>& tables() const noexcept { return tables_; }

    /// Applies the batch (invariants 1 to 4). Throws limit_error when a row has over 65,535 keys or
    /// a key over 65,535 bytes; usage_error when the store is read-only.
    void write(const write_batch& batch);

    [[nodiscard]] std::optional<pinned_row> find(table_id table, std::uint32_t id) const;

    /// The newest row that key number `index`, one of tables()[table].key_names, leads to.
    [[nodiscard]] std::optional<pinned_row> find(table_id table, std::uint32_t index,
                                                 bytes_view key) const;
    /// The newest of those that count.
    [[nodiscard]] std::optional<pinned_row> find(table_id table, std::uint32_t index,
                                                 bytes_view key, const row_predicate& counts) const;

    /// Here and below rows are those that were written, whether they count or not. Not part of the
    /// lookup statistics.
    [[nodiscard]] bool contains(table_id table, std::uint32_t id) const;
    [[nodiscard]] std::uint64_t count(table_id table) const;

    /// The rows from id `from` on, in the order of ids.
    [[nodiscard]] row_cursor rows(table_id table, std::uint32_t from = 0) const;

    /// The entries of a secondary key from `from` on, in the order of bytes, those of equal bytes
    /// by falling id. To see all keys that start with some parts, begin at their key and stop when
    /// starts_with() says no.
    [[nodiscard]] key_cursor keys(table_id table, std::uint32_t index, bytes_view from = {}) const;

    /// Everything written before is durable when this returns.
    void sync();

    /// As sync(), and moves what is buffered in memory into table files: the next open reads no
    /// log.
    void flush();

    /// Ensures from now on that rows are on storage before anything that relies on them: before a
    /// checkpoint of `state` is published, a block goes to its redo log, or it is marked as closed
    /// (segment::sync_before_checkpoints). open_archive() and every life cycle call it. State and
    /// store may be destroyed in any order: a store destroyed first syncs, and if it cannot, the
    /// state publishes nothing more. Called by the writer; repeated calls have no effect. Does
    /// nothing unless has_to_sync(), and for a read-only state.
    void sync_before_checkpoints_of(database& state);

    [[nodiscard]] const statistics& stats() const noexcept { return *counted_; }

    /// For callers that ask shared memory first: hits there are recorded beside the store's own
    /// lookups.
    [[nodiscard]] statistics& stats() noexcept { return *counted_; }

    /// Counts from zero in a file in `folder` from now on, visible to other processes (class
    /// statistics_page). Call it before any other call. If the file cannot be created, counting
    /// goes on in private memory without an error.
    void publish_statistics(const std::filesystem::path& folder);

    /// Its name in messages.
    [[nodiscard]] virtual std::string name() const = 0;
    [[nodiscard]] virtual store_kind kind() const noexcept = 0;
    /// Whether what is written is still there when the store is opened again.
    [[nodiscard]] virtual bool outlives_process() const noexcept = 0;
    /// Whether rows are part of the state whose archive this is: then write() is a change of the
    /// current session, and undone with it.
    [[nodiscard]] virtual bool is_of_the_state() const noexcept { return false; }
    /// Whether there is a place for rows at all; else objects stay in memory.
    [[nodiscard]] virtual bool keeps_rows() const noexcept { return true; }
    /// Whether what is written here survives a power cut only with sync().
    [[nodiscard]] virtual bool has_to_sync() const noexcept {
        return keeps_rows() && outlives_process() && !is_of_the_state();
    }

protected:
    /// The totals of a batch.
    struct write_totals {
        std::uint64_t put = 0;
        std::uint64_t unchanged = 0;
        std::uint64_t erased = 0;
        std::uint64_t bytes = 0;
        std::uint64_t record_bytes = 0; ///< of `bytes`
    };

    // The engines implement these; tables and key numbers have been checked.
    virtual void create_table(const table_description& table) = 0;
    virtual write_totals apply(const write_batch& batch) = 0;
    [[nodiscard]] virtual std::optional<pinned_row> read(table_id table,
                                                         std::uint32_t id) const = 0;
    [[nodiscard]] virtual std::optional<pinned_row> read(table_id table, std::uint32_t index,
                                                         bytes_view key,
                                                         const row_predicate& counts) const = 0;
    [[nodiscard]] virtual std::uint64_t row_count(table_id table) const = 0;
    [[nodiscard]] virtual std::unique_ptr<row_cursor_source> scan(table_id table,
                                                                  std::uint32_t from) const = 0;
    [[nodiscard]] virtual std::unique_ptr<key_cursor_source>
    scan(table_id table, std::uint32_t index, bytes_view from) const = 0;
    virtual void make_durable(bool empty_buffers) = 0;

    /// An engine whose make_durable() does something calls this first in its destructor: a
    /// checkpoint in progress may still call it.
    void leave_states() noexcept { relied_on_by_.clear(); }

    /// For engines that find tables when they open.
    void add_existing_table(table_description table) { tables_.push_back(std::move(table)); }

    [[nodiscard]] const table_description& describe(table_id table) const;

private:
    void check(table_id table, std::uint32_t index) const;
    void check(const write_batch& batch) const;
    template <typename Work>
    auto counting_failures(Work&& work) const;
    template <typename Read>
    [[nodiscard]] std::optional<pinned_row> measured(Read&& read) const;
    void measured_sync(bool empty_buffers);

    std::vector<table_description> tables_;
    std::unique_ptr<statistics_page> page_;
    statistics* counted_;                             ///< in page_
    std::vector<std::shared_ptr<void>> relied_on_by_; ///< parts of prior_sync, one a state
};

/// Resources of a rocksdb store; other kinds ignore them.
struct store_options {
    /// One cache for all tables, of rows, data blocks, and where keys led. Filters and indexes stay
    /// in memory beside it, some 3 bytes a row.
    std::size_t cache_bytes = std::size_t{64} << 20;
    /// What all tables together buffer before they write table files.
    std::size_t write_buffer_bytes = std::size_t{64} << 20;
    /// The budget of file descriptors, for table files; some 20 more serve logs and locks. A
    /// read-only store keeps all its files open instead, lest the writer delete one it needs.
    int max_open_files = 256;
    /// Batches of so many rows go into sorted files, made durable at once, in place of the log and
    /// the write buffer: less work, but every batch costs some syncs (README.md).
    std::size_t ingest_rows = 5000;
    /// Opens beside a running writer, sees what was written before, changes nothing.
    bool read_only = false;
};

} // namespace chainbase::archive
