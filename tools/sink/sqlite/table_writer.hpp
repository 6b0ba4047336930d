#pragma once

#include <tools/sink/database.hpp>
#include <tools/sink/sqlite/connection.hpp>

#include <map>
#include <span>
#include <string>

namespace chainbase::sink::sqlite {

/// Changes the rows of one table, of its history and of those removed, within a transaction of its
/// caller. Keeps its statements. Connection and table outlive it.
class table_writer {
public:
    /// Throws usage_error when there is no such table.
    table_writer(connection& to, const ddl& made, const table& of);

    /// All rows.
    void erase_all();
    /// Requires that none of them is there.
    void load(const load_batch& rows);
    /// As of the block of this revision. `has_begun`: whether the history has.
    void apply(const table_batch& changes, const batch& in, revision_number revision,
               bool has_begun);
    /// Each row, as of this block, if the table has a history.
    void begin_history(const cursor& at);

private:
    [[nodiscard]] statement& prepared(const std::string& sql);
    void run_for(const std::string& sql, std::int64_t number);
    void change(const row_change& one, const batch& in, revision_number revision);
    void note(const history_change& one, const batch& in);
    void undo(const history_change& one, archive::bytes_view record);
    void insert_history(archive::bytes_view record, revision_number revision, std::uint32_t serial);
    void bind_row(statement& to, archive::bytes_view record);

    connection& to_;
    const table& of_;
    row_values values_;
    const std::string name_, removed_, history_; ///< quoted
    const std::string id_;                       ///< the column's name, quoted
    std::string columns_, marks_;                ///< in lists
    std::string put_;
    bool has_removed_, has_history_;
    std::map<std::string, statement, std::less<>> statements_;
};

} // namespace chainbase::sink::sqlite
