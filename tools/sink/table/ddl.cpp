#include <pool_allocator/base/error.hpp>
#include <tools/sink/table/ddl.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace chainbase::sink {

namespace {

constexpr std::array<std::string_view, 4> history_columns{"from_revision", "from_serial",
                                                          "until_revision", "until_serial"};

std::string in_brackets(const std::vector<std::string>& all) {
    return fmt::format("({})", fmt::join(all, ", "));
}

/// None for what SQLite would change in a column of a type: numbers in texts, and -0.0.
std::string_view sqlite_type(column_kind kind) {
    switch (kind) {
    case column_kind::boolean:
    case column_kind::small:
    case column_kind::integer:
    case column_kind::big:
        return "INTEGER";
    case column_kind::numeric:
    case column_kind::real32:
    case column_kind::real64:
        return "";
    case column_kind::bytes:
        return "BLOB";
    default:
        return "TEXT";
    }
}

/// `body` as that of a function.
std::string function(std::string_view name, std::string_view arguments, std::string_view returns,
                     std::string_view how, std::string_view body) {
    return fmt::format("CREATE OR REPLACE FUNCTION {}({}) RETURNS {} {} AS {}", name, arguments,
                       returns, how, literal(body));
}

} // namespace

std::string_view postgres_type(column_kind kind) noexcept {
    switch (kind) {
    case column_kind::boolean:
        return "boolean";
    case column_kind::small:
        return "smallint";
    case column_kind::integer:
        return "integer";
    case column_kind::big:
        return "bigint";
    case column_kind::numeric:
        return "numeric";
    case column_kind::real32:
        return "real";
    case column_kind::real64:
        return "double precision";
    case column_kind::bytes:
        return "bytea";
    case column_kind::json:
        return "json";
    default:
        return "text";
    }
}

std::string ddl::type_of(const column& of) const {
    if (how_.in == dialect::sqlite) return std::string(sqlite_type(of.kind));
    if (of.kind == column_kind::list) return std::string(postgres_type(of.of)) + "[]";
    return std::string(postgres_type(of.kind));
}

bool ddl::has_history(const table& of) const {
    return std::ranges::any_of(
        how_.history, [&](const std::string& one) { return one == "all" || one == of.type(); });
}

// --- names ---------------------------------------------------------------------------------------

std::string ddl::in_schema(std::string_view name) const {
    const std::string own = quoted(sql_name(name));
    return is_sqlite() ? own : quoted(sql_name(how_.schema)) + "." + own;
}

std::string ddl::name_of(const table& of) const {
    return in_schema(of.type());
}
std::string ddl::history_of(const table& of) const {
    return in_schema(of.type() + ".history");
}
std::string ddl::removed_of(const table& of) const {
    return in_schema(of.type() + ".removed");
}
std::string ddl::at_of(const table& of) const {
    return in_schema(of.type() + ".at");
}

std::string ddl::own(std::string_view name) const {
    const std::string schema = how_.schema + "_sink";
    if (is_sqlite()) return quoted(sql_name(fmt::format("{}.{}", schema, name)));
    return quoted(sql_name(schema)) + "." + quoted(sql_name(name));
}

// --- the sink's own tables -----------------------------------------------------------------------

std::vector<std::string> ddl::begin() const {
    std::vector<std::string> all;
    if (!is_sqlite()) {
        all.push_back("CREATE SCHEMA IF NOT EXISTS " + quoted(sql_name(how_.schema)));
        all.push_back("CREATE SCHEMA IF NOT EXISTS " + quoted(sql_name(how_.schema + "_sink")));
    }
    // INTEGER would be the row's number, which has no default.
    const std::string_view flag = is_sqlite() ? "INT" : "boolean";
    const std::string only = fmt::format("one {0} PRIMARY KEY DEFAULT {1} CHECK (one = {1})", flag,
                                         is_sqlite() ? "1" : "true");
    all.push_back(
        fmt::format("CREATE TABLE IF NOT EXISTS {} ({}, is_ready {} NOT NULL, state text NOT NULL, "
                    "position bigint, revision bigint NOT NULL, serial bigint NOT NULL, "
                    "epoch bigint NOT NULL, since bigint NOT NULL, shard bigint NOT NULL, "
                    "shards bigint NOT NULL)",
                    own("cursor"), only, flag));
    all.push_back(fmt::format(
        "CREATE TABLE IF NOT EXISTS {} ({}, format integer NOT NULL, catalogue text NOT NULL)",
        own("types"), only));
    if (how_.in == dialect::citus) {
        all.push_back(reference(own("cursor")));
        all.push_back(reference(own("types")));
    }
    all.push_back(fmt::format("INSERT INTO {} (format, catalogue) VALUES ({}, '') "
                              "ON CONFLICT DO NOTHING",
                              own("types"), format));
    if (!is_sqlite()) all.push_back(advance());
    return all;
}

std::string ddl::advance() const {
    constexpr std::string_view body = R"(
BEGIN
    UPDATE {0} AS c
    SET position = advance.to_position, revision = advance.revision, serial = advance.serial,
        since = CASE WHEN advance.is_ready AND NOT c.is_ready THEN advance.revision
                     ELSE c.since END,
        is_ready = advance.is_ready
    WHERE c.position IS NOT DISTINCT FROM advance.from_position AND c.epoch = advance.from_epoch;
    IF FOUND THEN
        RETURN;
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'CB001', MESSAGE = coalesce(
        (SELECT format('another sink follows into this database: its cursor is at position %s of '
                       'epoch %s (revision %s), not at position %s of epoch %s',
                       coalesce(c.position::text, 'none'), c.epoch, c.revision,
                       coalesce(advance.from_position::text, 'none'), advance.from_epoch)
         FROM {0} AS c),
        'there is no cursor');
END
)";
    return function(own("advance"),
                    "from_position bigint, from_epoch bigint, to_position bigint, "
                    "revision bigint, serial bigint, is_ready boolean",
                    "void", "LANGUAGE plpgsql", fmt::format(body, own("cursor")));
}

// --- the table of a type -------------------------------------------------------------------------

std::vector<std::string> ddl::create(const table& of, std::size_t distribution,
                                     bool with_removed) const {
    std::vector<std::string> all;
    const std::string id = quoted(of.columns().front().name);
    const std::string by = quoted(of.columns()[distribution].name);
    const bool is_part = how_.in == dialect::citus && distribution != 0;
    const std::string key = is_part ? by + ", " + id : id;
    const auto add = [&](const std::string& name, const std::string& more,
                         const std::string& primary) {
        all.push_back(fmt::format("CREATE TABLE IF NOT EXISTS {} ({}{}, PRIMARY KEY ({}))", name,
                                  columns_of(of), more, primary));
        if (how_.in == dialect::citus)
            all.push_back(distributed(name, of.columns()[distribution].name));
    };
    add(name_of(of), "", key);
    if (with_removed) add(removed_of(of), fmt::format(", \"{}\" bigint NOT NULL", removed_in), key);
    if (has_history(of)) {
        require_no_other_history(of);
        add(history_of(of),
            ", from_revision bigint NOT NULL, from_serial bigint NOT NULL, until_revision bigint, "
            "until_serial bigint",
            key + ", from_revision, from_serial");
        // By which a range is closed, also where the server has no statistics yet.
        all.push_back(
            fmt::format("CREATE INDEX IF NOT EXISTS {} ON {} ({}) WHERE until_revision IS "
                        "NULL",
                        quoted(sql_name(of.type() + ".history.now")), history_of(of), id));
        if (!is_sqlite()) all.push_back(as_of_revision(of));
    }
    if (!is_sqlite()) add_comments(of, all);
    return all;
}

void ddl::require_no_other_history(const table& of) const {
    for (const column& one : of.columns())
        if (std::ranges::find(history_columns, one.name) != history_columns.end())
            throw usage_error(fmt::format("{} can have no history: it has a field {} itself; name "
                                          "the types with --history, without this one",
                                          of.type(), one.name));
}

std::string ddl::columns_of(const table& of) const {
    std::vector<std::string> all;
    for (const column& one : of.columns()) {
        // SQLite takes an id for the row's number only in a column of this very type.
        const std::string type = is_sqlite() && all.empty() ? "INTEGER" : type_of(one);
        all.push_back(fmt::format("{}{}{}{}", quoted(one.name), type.empty() ? "" : " ", type,
                                  one.is_nullable ? "" : " NOT NULL"));
    }
    return fmt::format("{}", fmt::join(all, ", "));
}

std::string ddl::as_of_revision(const table& of) const {
    std::vector<std::string> names;
    for (const column& one : of.columns())
        names.push_back("h." + quoted(one.name));
    const std::string body = fmt::format("SELECT {} FROM {} AS h WHERE h.from_revision <= $1 AND "
                                         "(h.until_revision IS NULL OR h.until_revision > $1)",
                                         fmt::join(names, ", "), history_of(of));
    return function(at_of(of), "revision bigint", "SETOF " + name_of(of), "LANGUAGE sql STABLE",
                    body);
}

void ddl::add_comments(const table& of, std::vector<std::string>& to) const {
    to.push_back(fmt::format("COMMENT ON TABLE {} IS {}", name_of(of),
                             literal("The objects of type " + of.type())));
    for (const column& one : of.columns())
        to.push_back(fmt::format("COMMENT ON COLUMN {}.{} IS {}", name_of(of), quoted(one.name),
                                 literal(one.description)));
}

// --- indexes -------------------------------------------------------------------------------------

std::vector<std::string> ddl::index(const table& of) const {
    std::vector<std::string> all;
    for (const table_key& key : of.keys()) {
        if (key.parts.size() == 1 && key.parts.front().column == 0) continue; // the primary key
        const auto is_long = [&](const table_key::part& part) {
            return of.columns()[part.column].is_long;
        };
        const auto longs = std::ranges::count_if(key.parts, is_long);
        std::vector<std::string> parts;
        for (const table_key::part& part : key.parts)
            parts.push_back(part_of(of.columns()[part.column], static_cast<std::size_t>(longs)) +
                            (part.is_descending ? " DESC" : ""));
        all.push_back(fmt::format("CREATE INDEX IF NOT EXISTS {} ON {} {}",
                                  quoted(index_name(of, key)), name_of(of), in_brackets(parts)));
    }
    return all;
}

/// A key may be called as a table is.
std::string ddl::index_name(const table& of, const table_key& key) {
    const bool is_taken = key.name == sql_name(of.type() + ".history") ||
                          key.name == sql_name(of.type() + ".removed");
    return is_taken ? sql_name(key.name + ".key") : key.name;
}

/// An entry of an index has at most 2,700 bytes in PostgreSQL, a character up to four.
std::string ddl::part_of(const column& of, std::size_t longs) const {
    constexpr std::size_t most = 500;
    const std::string name = quoted(of.name);
    if (is_sqlite() || !of.is_long) return name;
    if (of.kind == column_kind::text) return fmt::format("left({}, {})", name, most / longs);
    return fmt::format("substring({} from 1 for {})", name, most / longs);
}

// --- Citus: each statement does nothing where it was run before ----------------------------------

std::string ddl::distributed(const std::string& name, const std::string& by) {
    return fmt::format("SELECT create_distributed_table({0}, {1}) WHERE NOT EXISTS "
                       "(SELECT FROM pg_dist_partition WHERE logicalrelid = {0}::regclass)",
                       literal(name), literal(by));
}

std::string ddl::reference(const std::string& name) {
    return fmt::format("SELECT create_reference_table({0}) WHERE NOT EXISTS "
                       "(SELECT FROM pg_dist_partition WHERE logicalrelid = {0}::regclass)",
                       literal(name));
}

} // namespace chainbase::sink
