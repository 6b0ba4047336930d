#pragma once

#include <tools/sink/database.hpp>
#include <tools/sink/postgres/connection.hpp>
#include <tools/sink/postgres/folded_history.hpp>
#include <tools/sink/postgres/row_arrays.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace chainbase::sink::postgres {

/// Sends changes of a table as statements that change many rows each, in a pipeline.
///
/// One thread at a time; the table outlives it.
class table_writer {
public:
    /// `distribution`: the column of Citus.
    table_writer(const ddl& made, const table& of, std::size_t distribution);

    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    /// As of the block of this revision. `with_history`: whether those changes are noted, too.
    /// Throws damaged_error when a record is none.
    void apply(connection& to, const table_batch& changes, const batch& in,
               revision_number revision, bool with_history);
    /// Each row is from this block on.
    void begin_history(connection& to, const cursor& at);
    /// Copies rows; `replaces`: some of them may be there.
    void load(connection& to, const load_batch& rows, bool replaces);
    /// "SELECT columns FROM table ORDER BY id".
    [[nodiscard]] std::string rows_by_id() const;

private:
    using ids = std::span<const std::uint32_t>;

    [[nodiscard]] std::string what() const { return "table " + name_; }
    void put(connection& to, const table_batch& changes, const batch& in);
    void send_rows(connection& to, const std::string& sql, row_arrays& rows);
    /// Runs a statement with `$1` the ids, and `$2` the number, if there is one.
    void for_ids(connection& to, const std::string& sql, ids all,
                 std::optional<std::int64_t> number = {});
    void hide(connection& to, ids all, revision_number revision);
    void restore(connection& to, ids all);
    void empty_removed(connection& to, revision_number irreversible);
    void erase_elsewhere(connection& to);
    void note(connection& to, const table_batch& changes, const batch& in);
    void undo(connection& to, const std::vector<folded_history::undo>& all);
    void close(connection& to, const std::vector<folded_history::close>& all);
    void insert_history(connection& to, const std::string& sql, const batch& in,
                        const std::vector<folded_history::row>& all);
    void copy_rows(connection& to, const load_batch& rows);

    const table& of_;
    row_values values_;
    row_arrays rows_;
    row_arrays history_rows_;
    std::string name_, removed_, history_;
    std::string id_;
    std::string columns_;     ///< their names, between commas
    std::string on_conflict_; ///< replaces the row that is there
    bool has_history_;
    bool is_distributed_; ///< by another column than the id
    std::size_t distribution_;
};

} // namespace chainbase::sink::postgres
