#include <archive/record/integers.hpp>
#include <tools/sink/postgres/folded_history.hpp>
#include <tools/sink/postgres/table_writer.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <optional>
#include <vector>

namespace chainbase::sink::postgres {

namespace {

const std::vector<std::string> history_numbers{"from_revision", "from_serial", "until_revision",
                                               "until_serial"};

/// Calls `work` with so many at a time that a statement has.
template <typename All, typename Work>
void in_parts(const All& all, Work&& work) {
    for (std::size_t at = 0; at < all.size(); at += row_arrays::most_rows)
        work(std::span(all).subspan(at, std::min(row_arrays::most_rows, all.size() - at)));
}

std::vector<std::uint32_t> ids_of(const table_batch& changes, row_change::kind what) {
    std::vector<std::uint32_t> ids;
    for (const row_change& one : changes.changes)
        if (one.what == what) ids.push_back(one.id);
    return ids;
}

/// Arrays of bigint, an element of each for every row.
template <std::size_t Count>
class number_arrays {
public:
    void add(const std::array<std::int64_t, Count>& row) {
        for (std::size_t at = 0; at < Count; ++at)
            all_[at].add_number(row[at]);
    }
    [[nodiscard]] std::array<parameter, Count> parameters() {
        std::array<parameter, Count> made{};
        for (std::size_t at = 0; at < Count; ++at)
            made[at] = {all_[at].type(), all_[at].bytes()};
        return made;
    }

private:
    std::vector<array_parameter> all_{Count, array_parameter(column_kind::big)};
};

} // namespace

table_writer::table_writer(const ddl& made, const table& of, std::size_t distribution)
    : of_(of), values_(of), rows_(of), history_rows_(of, history_numbers), name_(made.name_of(of)),
      removed_(made.removed_of(of)), history_(made.history_of(of)),
      id_(quoted(of.columns().front().name)), has_history_(made.has_history(of)),
      is_distributed_(made.options().in == dialect::citus && distribution != 0),
      distribution_(distribution) {
    std::vector<std::string> names;
    std::vector<std::string> updates;
    for (std::size_t at = 0; at < of.columns().size(); ++at) {
        names.push_back(quoted(of.columns()[at].name));
        const bool is_key = at == 0 || (is_distributed_ && at == distribution);
        if (!is_key) updates.push_back(fmt::format("{0} = EXCLUDED.{0}", names.back()));
    }
    columns_ = fmt::format("{}", fmt::join(names, ", "));
    const std::string key = is_distributed_ ? names[distribution] + ", " + id_ : id_;
    on_conflict_ = updates.empty() ? fmt::format("ON CONFLICT ({}) DO NOTHING", key)
                                   : fmt::format("ON CONFLICT ({}) DO UPDATE SET {}", key,
                                                 fmt::join(updates, ", "));
}

std::string table_writer::rows_by_id() const {
    return fmt::format("SELECT {} FROM {} ORDER BY {}", columns_, name_, id_);
}

// --- rows as they are now ------------------------------------------------------------------------

/// Rows of different ids do not meet, so it does not matter in which order they are changed.
void table_writer::apply(connection& to, const table_batch& changes, const batch& in,
                         revision_number revision, bool with_history) {
    for_ids(to, fmt::format("DELETE FROM {} WHERE {} = ANY($1)", name_, id_),
            ids_of(changes, row_change::kind::erase));
    put(to, changes, in);
    hide(to, ids_of(changes, row_change::kind::hide), revision);
    restore(to, ids_of(changes, row_change::kind::restore));
    if (changes.irreversible) empty_removed(to, *changes.irreversible);
    if (has_history_ && with_history) note(to, changes, in);
}

void table_writer::put(connection& to, const table_batch& changes, const batch& in) {
    const std::string sql =
        fmt::format("INSERT INTO {} ({}) {} {}", name_, columns_, rows_.select(), on_conflict_);
    const auto send = [&] {
        if (rows_.rows() == 0) return;
        if (is_distributed_) erase_elsewhere(to);
        send_rows(to, sql, rows_);
    };
    rows_.clear();
    for (const row_change& one : changes.changes) {
        if (one.what != row_change::kind::put) continue;
        rows_.add(values_.read(in.record(one.begin, one.end)));
        if (rows_.is_full()) send();
    }
    send();
}

void table_writer::send_rows(connection& to, const std::string& sql, row_arrays& rows) {
    to.send(sql, rows.parameters(), what());
    rows.clear();
}

/// With Citus a row whose distribution column changes is another row, in another place.
void table_writer::erase_elsewhere(connection& to) {
    const std::string by = quoted(of_.columns()[distribution_].name);
    const std::string sql = fmt::format("DELETE FROM {0} AS t USING ({1}) AS n({2}) WHERE t.{3} = "
                                        "n.{3} AND t.{4} <> n.{4}",
                                        name_, rows_.select(), columns_, id_, by);
    to.send(sql, rows_.parameters(), what());
}

void table_writer::for_ids(connection& to, const std::string& sql, ids all,
                           std::optional<std::int64_t> number) {
    in_parts(all, [&](ids some) {
        array_parameter ids_of_some(column_kind::big);
        for (const std::uint32_t id : some)
            ids_of_some.add_number(id);
        std::vector<parameter> both{{ids_of_some.type(), ids_of_some.bytes()}};
        std::array<std::byte, sizeof(std::int64_t)> bytes;
        if (number) {
            archive::detail::store_big(bytes.data(), *number);
            both.push_back({type_of(column_kind::big), bytes});
        }
        to.send(sql, both, what());
    });
}

void table_writer::hide(connection& to, ids all, revision_number revision) {
    for_ids(to,
            fmt::format("WITH moved AS (DELETE FROM {0} WHERE {1} = ANY($1) RETURNING {2}) INSERT "
                        "INTO {3} ({2}, \"{4}\") SELECT {2}, $2 FROM moved",
                        name_, id_, columns_, removed_, ddl::removed_in),
            all, revision);
}

void table_writer::restore(connection& to, ids all) {
    for_ids(to,
            fmt::format("WITH moved AS (DELETE FROM {0} WHERE {1} = ANY($1) RETURNING {2}) INSERT "
                        "INTO {3} ({2}) SELECT {2} FROM moved {4}",
                        removed_, id_, columns_, name_, on_conflict_),
            all);
}

void table_writer::empty_removed(connection& to, revision_number irreversible) {
    std::array<std::byte, sizeof(std::int64_t)> bytes;
    archive::detail::store_big(bytes.data(), std::int64_t{irreversible});
    to.send(fmt::format("DELETE FROM {} WHERE \"{}\" <= $1", removed_, ddl::removed_in),
            {{type_of(column_kind::big), bytes}}, what());
}

// --- history -------------------------------------------------------------------------------------

void table_writer::begin_history(connection& to, const cursor& at) {
    if (!has_history_) return;
    std::array<std::byte, sizeof(std::int64_t)> revision, serial;
    archive::detail::store_big(revision.data(), static_cast<std::int64_t>(at.revision));
    archive::detail::store_big(serial.data(), std::int64_t{at.serial});
    const type_number big = type_of(column_kind::big);
    to.send(fmt::format("INSERT INTO {0} ({1}, from_revision, from_serial) SELECT {1}, $1, $2 "
                        "FROM {2}",
                        history_, columns_, name_),
            {{big, revision}, {big, serial}}, what());
}

/// Undone, then what is again where nothing is now, then ended, then begun.
void table_writer::note(connection& to, const table_batch& changes, const batch& in) {
    const folded_history folded(changes.history);
    const std::string numbers = fmt::format("{}", fmt::join(history_numbers, ", "));
    const std::string insert = fmt::format("INSERT INTO {} ({}, {}) ", history_, columns_, numbers);
    undo(to, folded.undone);
    const std::string if_missing = fmt::format(
        "{0}SELECT * FROM ({1}) AS n({2}, {3}) WHERE NOT EXISTS (SELECT FROM {4} AS h WHERE h.{5} "
        "= n.{5} AND h.until_revision IS NULL)",
        insert, history_rows_.select(), columns_, numbers, history_, id_);
    insert_history(to, if_missing, in, folded.again);
    close(to, folded.closed);
    insert_history(to, insert + history_rows_.select(), in, folded.rows);
}

void table_writer::undo(connection& to, const std::vector<folded_history::undo>& all) {
    in_parts(all, [&](std::span<const folded_history::undo> some) {
        number_arrays<2> numbers;
        for (const auto& one : some)
            numbers.add({one.id, one.at});
        constexpr std::string_view those = "unnest($1::int8[], $2::int8[]) AS r(id, at)";
        to.send(fmt::format("DELETE FROM {} AS h USING {} WHERE h.{} = r.id AND h.from_revision >= "
                            "r.at",
                            history_, those, id_),
                numbers.parameters(), what());
        to.send(fmt::format("UPDATE {} AS h SET until_revision = NULL, until_serial = NULL FROM {} "
                            "WHERE h.{} = r.id AND h.until_revision >= r.at",
                            history_, those, id_),
                numbers.parameters(), what());
    });
}

void table_writer::close(connection& to, const std::vector<folded_history::close>& all) {
    in_parts(all, [&](std::span<const folded_history::close> some) {
        number_arrays<3> numbers;
        for (const auto& one : some)
            numbers.add({one.id, one.at, one.serial});
        to.send(fmt::format("UPDATE {} AS h SET until_revision = r.at, until_serial = r.serial "
                            "FROM unnest($1::int8[], $2::int8[], $3::int8[]) AS r(id, at, serial) "
                            "WHERE h.{} = r.id AND h.until_revision IS NULL",
                            history_, id_),
                numbers.parameters(), what());
    });
}

void table_writer::insert_history(connection& to, const std::string& sql, const batch& in,
                                  const std::vector<folded_history::row>& all) {
    history_rows_.clear();
    for (const folded_history::row& one : all) {
        const std::array<std::optional<std::int64_t>, 4> numbers{one.from, one.from_serial,
                                                                 one.until, one.until_serial};
        history_rows_.add(values_.read(in.record(one.begin, one.end)), numbers);
        if (history_rows_.is_full()) send_rows(to, sql, history_rows_);
    }
    if (history_rows_.rows() != 0) send_rows(to, sql, history_rows_);
}

// --- COPY ----------------------------------------------------------------------------------------

void table_writer::load(connection& to, const load_batch& rows, bool replaces) {
    if (replaces) {
        std::vector<std::uint32_t> ids;
        for (const auto& [begin, end] : rows.rows)
            ids.push_back(static_cast<std::uint32_t>(
                values_.read(archive::bytes_view(rows.records).subspan(begin, end - begin))
                    .front()
                    .as_int64()));
        to.begin_pipeline();
        for_ids(to, fmt::format("DELETE FROM {} WHERE {} = ANY($1)", name_, id_), ids);
        to.end_pipeline();
    }
    to.begin_copy(fmt::format("COPY {} ({}) FROM STDIN (FORMAT binary)", name_, columns_), what());
    copy_rows(to, rows);
    to.end_copy();
}

/// Header: signature, no flags, no extension. Before each row the number of its values; -1 at the
/// end.
void table_writer::copy_rows(connection& to, const load_batch& rows) {
    constexpr std::string_view header("PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19);
    constexpr std::size_t part = std::size_t{256} << 10;
    const auto append_count = [](archive::byte_buffer& bytes, std::int16_t count) {
        std::array<std::byte, sizeof count> stored;
        archive::detail::store_big(stored.data(), count);
        bytes.insert(bytes.end(), stored.begin(), stored.end());
    };
    archive::byte_buffer bytes;
    archive::append(bytes, archive::as_bytes(header));
    for (const auto& [begin, end] : rows.rows) {
        const std::vector<value>& row =
            values_.read(archive::bytes_view(rows.records).subspan(begin, end - begin));
        append_count(bytes, static_cast<std::int16_t>(row.size()));
        for (std::size_t at = 0; at < row.size(); ++at)
            append_value(bytes, of_.columns()[at], row[at]);
        if (bytes.size() < part) continue;
        to.copy(bytes);
        bytes.clear();
    }
    append_count(bytes, -1);
    to.copy(bytes);
}

} // namespace chainbase::sink::postgres
