#include <pool_allocator/base/error.hpp>
#include <tools/sink/sqlite/table_writer.hpp>

#include <fmt/format.h>

namespace chainbase::sink::sqlite {

table_writer::table_writer(connection& to, const ddl& made, const table& of)
    : to_(to), of_(of), values_(of, list_form::json), name_(made.name_of(of)),
      removed_(made.removed_of(of)), history_(made.history_of(of)),
      id_(quoted(of.columns().front().name)),
      has_removed_(to.has_table(sql_name(of.type() + ".removed"))),
      has_history_(made.has_history(of)) {
    if (!to.has_table(of.name()))
        throw usage_error(fmt::format("the file has no table {}: SQLite takes names that differ in "
                                      "case for the same one; use PostgreSQL, or make the tables "
                                      "that chainbase-sink ddl prints",
                                      name_));
    std::string updates;
    for (const column& one : of.columns()) {
        const std::string name = quoted(one.name);
        const char* const before = columns_.empty() ? "" : ", ";
        columns_ += before + name;
        marks_ += std::string(before) + "?";
        updates += fmt::format("{}{} = excluded.{}", before, name, name);
    }
    put_ = fmt::format("INSERT INTO {} ({}) VALUES ({}) ON CONFLICT ({}) DO UPDATE SET {}", name_,
                       columns_, marks_, id_, updates);
}

statement& table_writer::prepared(const std::string& sql) {
    const auto found = statements_.find(sql);
    if (found != statements_.end()) return found->second;
    return statements_.emplace(sql, to_.prepare(sql)).first->second;
}

void table_writer::run_for(const std::string& sql, std::int64_t number) {
    statement& one = prepared(sql);
    one.bind(0, number);
    one.run();
}

void table_writer::bind_row(statement& to, archive::bytes_view record) {
    const std::vector<value>& row = values_.read(record);
    for (std::size_t at = 0; at < row.size(); ++at)
        to.bind(static_cast<int>(at), of_.columns()[at], row[at]);
}

void table_writer::erase_all() {
    to_.run("DELETE FROM " + name_);
    if (has_removed_) to_.run("DELETE FROM " + removed_);
    if (has_history_) to_.run("DELETE FROM " + history_);
}

void table_writer::load(const load_batch& rows) {
    statement& insert =
        prepared(fmt::format("INSERT INTO {} ({}) VALUES ({})", name_, columns_, marks_));
    for (const auto& [begin, end] : rows.rows) {
        bind_row(insert, archive::bytes_view(rows.records).subspan(begin, end - begin));
        insert.run();
    }
}

void table_writer::apply(const table_batch& changes, const batch& in, revision_number revision,
                         bool has_begun) {
    for (const row_change& one : changes.changes)
        change(one, in, revision);
    if (changes.irreversible && has_removed_)
        run_for(fmt::format("DELETE FROM {} WHERE \"{}\" <= ?", removed_, ddl::removed_in),
                *changes.irreversible);
    if (!has_history_ || !has_begun) return;
    for (const history_change& one : changes.history)
        note(one, in);
}

void table_writer::change(const row_change& one, const batch& in, revision_number revision) {
    const auto erase = [&](const std::string& from) {
        run_for(fmt::format("DELETE FROM {} WHERE {} = ?", from, id_), one.id);
    };
    switch (one.what) {
    case row_change::kind::put: {
        statement& put = prepared(put_);
        bind_row(put, in.record(one.begin, one.end));
        return put.run();
    }
    case row_change::kind::erase:
        return erase(name_);
    case row_change::kind::hide: {
        statement& hide =
            prepared(fmt::format("INSERT OR REPLACE INTO {} ({}, \"{}\") SELECT {}, "
                                 "? FROM {} WHERE {} = ?",
                                 removed_, columns_, ddl::removed_in, columns_, name_, id_));
        hide.bind(0, revision);
        hide.bind(1, std::int64_t{one.id});
        hide.run();
        return erase(name_);
    }
    case row_change::kind::restore:
        run_for(fmt::format("INSERT OR REPLACE INTO {} ({}) SELECT {} FROM {} WHERE {} = ?", name_,
                            columns_, columns_, removed_, id_),
                one.id);
        return erase(removed_);
    }
}

// --- history -------------------------------------------------------------------------------------

void table_writer::begin_history(const cursor& at) {
    if (!has_history_) return;
    statement& all = prepared(
        fmt::format("INSERT INTO {} ({}, from_revision, from_serial) SELECT {}, ?, ? FROM {}",
                    history_, columns_, columns_, name_));
    all.bind(0, at.revision);
    all.bind(1, std::int64_t{at.serial});
    all.run();
}

void table_writer::note(const history_change& one, const batch& in) {
    const archive::bytes_view record = in.record(one.begin_at, one.end_at);
    if (one.what == history_change::kind::undo) return undo(one, record);
    statement& end = prepared(fmt::format("UPDATE {} SET until_revision = ?, until_serial = ? "
                                          "WHERE {} = ? AND until_revision IS NULL",
                                          history_, id_));
    end.bind(0, one.revision);
    end.bind(1, std::int64_t{one.serial});
    end.bind(2, std::int64_t{one.id});
    end.run();
    if (one.what == history_change::kind::begin) insert_history(record, one.revision, one.serial);
}

/// What was as of an earlier block is now again. Where the history does not have it, as it began at
/// the block that is undone, it begins with the block before.
void table_writer::undo(const history_change& one, archive::bytes_view record) {
    statement& erase =
        prepared(fmt::format("DELETE FROM {} WHERE {} = ? AND from_revision >= ?", history_, id_));
    erase.bind(0, std::int64_t{one.id});
    erase.bind(1, one.revision);
    erase.run();
    statement& reopen =
        prepared(fmt::format("UPDATE {} SET until_revision = NULL, until_serial = NULL "
                             "WHERE {} = ? AND until_revision >= ?",
                             history_, id_));
    reopen.bind(0, std::int64_t{one.id});
    reopen.bind(1, one.revision);
    reopen.run();
    if (to_.changes() == 0 && !record.empty()) insert_history(record, one.revision - 1, 0);
}

void table_writer::insert_history(archive::bytes_view record, revision_number revision,
                                  std::uint32_t serial) {
    statement& insert =
        prepared(fmt::format("INSERT INTO {} ({}, from_revision, from_serial) VALUES ({}, ?, ?)",
                             history_, columns_, marks_));
    bind_row(insert, record);
    const int columns = static_cast<int>(of_.columns().size());
    insert.bind(columns, revision);
    insert.bind(columns + 1, std::int64_t{serial});
    insert.run();
}

} // namespace chainbase::sink::sqlite
