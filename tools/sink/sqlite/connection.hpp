#pragma once

#include <tools/sink/table/table.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace chainbase::sink {
struct link_options;
}

namespace chainbase::sink::sqlite {

class statement;

/// A connection to a file of SQLite. All functions here throw what database_link does, and
/// damaged_error, limit_error. One thread at a time.
class connection {
public:
    /// Creates the file unless it only reads. The options outlive it.
    connection(const std::string& file, const link_options& how);
    ~connection();
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    /// The connection outlives it.
    [[nodiscard]] statement prepare(const std::string& sql);
    void run(const std::string& sql);
    /// How many rows the last statement changed.
    [[nodiscard]] std::int64_t changes() const noexcept;
    /// Of exactly this name: SQLite itself takes a and A for one.
    [[nodiscard]] bool has_table(std::string_view name);
    /// Throws for the error that SQLite met last, while `doing`.
    [[noreturn]] void fail(const std::string& doing) const;

private:
    friend class transaction;

    static int wait(void* own, int times) noexcept;

    const std::string file_;
    const link_options& how_;
    sqlite3* db_ = nullptr;
};

/// A prepared statement. Parameters and columns are counted from 0.
class statement {
public:
    statement(connection& of, sqlite3_stmt* made) : of_(&of), made_(made, &finalize) {}

    void bind(int at, std::int64_t number);
    /// The text must stay as it is until the statement was run.
    void bind(int at, std::string_view text);
    void bind_null(int at);
    /// As README.md, "Tables" has it; what it refers to must stay until the statement was run.
    void bind(int at, const column& in, const value& what);

    /// To the next row; false: there is none, and it can be run again. Parameters stay.
    [[nodiscard]] bool step();
    /// Runs it; requires that it has no rows.
    void run();
    /// So that it can be run again.
    void reset() noexcept;

    [[nodiscard]] bool is_null(int at) const noexcept;
    [[nodiscard]] std::int64_t number(int at) const noexcept;
    [[nodiscard]] std::string_view text(int at) const noexcept; ///< valid until the next step
    /// As bind() has it; what nothing bound comes as it is, which row_record refuses.
    void read(int at, const column& in, value& to) const;

private:
    static void finalize(sqlite3_stmt* one) noexcept;
    void require(int code) const;
    void bind_integer(int at, const column& in, const value& what);
    void bind_blob(int at, std::span<const std::byte> bytes);

    connection* of_;
    std::unique_ptr<sqlite3_stmt, void (*)(sqlite3_stmt*) noexcept> made_;
};

/// Rolled back unless it is committed.
class transaction {
public:
    enum class kind { reads, writes };

    transaction(connection& of, kind what);
    ~transaction();
    transaction(const transaction&) = delete;
    transaction& operator=(const transaction&) = delete;
    void commit() { of_.run("COMMIT"); }

private:
    connection& of_;
};

} // namespace chainbase::sink::sqlite
