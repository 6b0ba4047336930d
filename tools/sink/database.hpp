#pragma once

#include <archive/record/bytes.hpp>
#include <chainbase/feed/feed_files.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/sink/table/ddl.hpp>
#include <tools/sink/table/table.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace chainbase::sink {

/// The work may succeed if it is done again: the connection was lost, the server restarts, a
/// transaction met another one, a disk is full. What was begun is undone, or done; the cursor says
/// which.
class retry_error : public error {
public:
    using error::error;
};

/// Another sink follows into this database: it has moved the cursor.
class fenced_error : public usage_error {
public:
    using usage_error::usage_error;
};

/// How far a database is.
struct cursor {
    bool is_ready = false;                 ///< its rows are those of a block
    std::string state;                     ///< identity of the state, 32 hexadecimal digits
    std::optional<feed::feed_position> at; ///< behind the last entry; nothing: it had no feed
    revision_number revision = 0;
    std::uint32_t serial = 0;
    /// Of the bootstrap: how many there were, and below that 32 bits at random, so that of two
    /// sinks that begin at one block each knows its own.
    std::uint64_t epoch = 0;
    revision_number since = 0; ///< of the bootstrap: the block at which `is_ready` was set
    std::uint32_t shard = 0;   ///< which one it is, of how many
    std::uint32_t shards = 1;

    [[nodiscard]] std::uint64_t bootstraps() const noexcept { return epoch >> 32; }

    bool operator==(const cursor&) const = default;
};

/// What becomes of a row.
struct row_change {
    enum class kind : std::uint8_t {
        put,     ///< is `record` from now on
        erase,   ///< is none from now on
        hide,    ///< moves to TYPE.removed, as of the block of the cursor's `to`
        restore, ///< comes back from there
    };
    kind what;
    std::uint32_t id;
    std::size_t begin = 0, end = 0; ///< of its record, in `records` of the batch
};

/// A step in the history of a row, in the order in which they happened.
struct history_change {
    enum class kind : std::uint8_t {
        begin, ///< of this revision it is `record`; what it was before ends
        end,   ///< of this revision it is none
        /// Of a pop: as before the block of this revision, when it was `record` (empty: not there).
        /// What began with the block, or behind it, is gone; what ended there is open again. Where
        /// the history has nothing of before, `record` begins at the revision below.
        undo,
    };
    kind what;
    std::uint32_t id;
    revision_number revision;
    std::uint32_t serial;
    std::size_t begin_at = 0, end_at = 0;
};

/// What whole blocks change in a table.
struct table_batch {
    const table* of = nullptr;
    std::vector<row_change> changes; ///< each row once at most; ids rise
    std::vector<history_change> history;
    /// Rows that moved to TYPE.removed up to this block, if any, are deleted there at last.
    std::optional<revision_number> irreversible = std::nullopt;
};

/// What one transaction does.
struct batch {
    std::vector<table_batch> tables; ///< those that have changes
    archive::byte_buffer records;

    [[nodiscard]] archive::bytes_view record(std::size_t begin, std::size_t end) const noexcept {
        return archive::bytes_view(records).subspan(begin, end - begin);
    }
};

/// Rows of one table, to copy into an empty one.
struct load_batch {
    const table* of = nullptr;
    std::vector<std::pair<std::size_t, std::size_t>> rows; ///< begin and end, in `records`
    archive::byte_buffer records;
};

/// A database that rows go to. All functions throw retry_error, fenced_error, access_error (login,
/// rights, read-only), usage_error (what is there is of another state, or was made otherwise; what
/// to do), io_error; damaged_error when a record is none of its type, or the file of a database is
/// damaged; limit_error for a value that is too long for it; interrupted_error when it is over.
///
/// One thread at a time; several objects in several threads. After a retry_error it connects anew
/// by itself at the next call. Tables that it was given outlive it.
class database_link {
public:
    virtual ~database_link() = default;

    /// For messages: without passwords.
    [[nodiscard]] virtual const std::string& name() const noexcept = 0;

    /// Runs statements in one transaction.
    virtual void run(std::span<const std::string> statements) = 0;
    /// The cursor; nothing when the sink's tables are not there. On its storage: what another
    /// connection would see after a crash. Waits for a transaction that moves it just now, which
    /// may be that of a sink that was killed; not where nothing can be written.
    [[nodiscard]] virtual std::optional<cursor> where() = 0;
    /// The catalogue that the tables were made from, as text; empty: none.
    [[nodiscard]] virtual std::string catalogue() = 0;

    /// Begins a bootstrap in one transaction: from now on `to`, which is not ready; all rows of
    /// `tables` are gone. Throws fenced_error when the cursor is not `from` (nothing: not there).
    virtual void begin_bootstrap(const std::optional<cursor>& from, const cursor& to,
                                 std::span<const table* const> tables,
                                 const std::string& catalogue) = 0;
    /// Copies rows into a table that has none of them. Requires that the cursor is not ready.
    virtual void load(const load_batch& rows) = 0;

    /// One transaction: the cursor from `from` to `to`, and the rows. One that makes it ready also
    /// begins the histories: each row as of `to`; steps before it are none of a history. A row to
    /// hide or to restore need not be there. Throws fenced_error when the cursor is not at `from`.
    virtual void apply(const batch& changes, const cursor& from, const cursor& to) = 0;

    /// Calls `begun` with the cursor, and then `visit` for each row, by rising id, all in one
    /// transaction. Values are valid during the call.
    virtual void read(std::span<const table* const> tables,
                      const std::function<void(const cursor&)>& begun,
                      const std::function<void(const table&, std::span<const value>)>& visit) = 0;
};

/// Options of a link.
struct link_options {
    ddl tables;
    /// Column by which Citus distributes a type's rows; 0: the id.
    std::function<std::size_t(const table&)> distribution = [](const table&) {
        return std::size_t{0};
    };
    bool reads_only = false;
    /// A server that has said nothing for so long is asked whether it works still: if it does not
    /// answer others either, or has not begun, that is a lost connection.
    std::chrono::seconds answers_within{30};
    /// Asked while a database is waited for, from the thread that calls. When it is over, a
    /// database that says nothing for half a second is left: interrupted_error.
    std::function<bool()> is_over = [] { return false; };
};

/// `dsn`: "sqlite:FILE", or what libpq connects to. Does not connect yet. Throws usage_error.
[[nodiscard]] std::unique_ptr<database_link> open_database(const std::string& dsn,
                                                           const link_options& how);
[[nodiscard]] std::unique_ptr<database_link> open_sqlite(const std::string& file,
                                                         const link_options& how);
[[nodiscard]] std::unique_ptr<database_link> open_postgres(const std::string& dsn,
                                                           const link_options& how);

} // namespace chainbase::sink
