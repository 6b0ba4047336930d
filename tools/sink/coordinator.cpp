#include <pool_allocator/base/error.hpp>
#include <tools/sink/coordinator.hpp>

#include <fmt/format.h>
#include <libpq-fe.h>

#include <memory>
#include <string_view>
#include <utility>

namespace chainbase::sink {

namespace {

using words = std::map<std::string, std::string>;

/// "(host 'a', port '5432')", of those that are there.
std::string options_of(const words& from, std::initializer_list<const char*> names,
                       std::string more = {}) {
    std::string text;
    for (const char* name : names)
        if (const auto found = from.find(name); found != from.end())
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, literal(found->second));
    if (!more.empty()) text += (text.empty() ? "" : ", ") + more;
    return text.empty() ? text : " OPTIONS (" + text + ")";
}

class coordinator {
public:
    coordinator(const std::vector<std::string>& shards, const known_tables& tables, const ddl& made)
        : shards_(shards), tables_(tables), made_(made), schema_(made.options().schema) {}

    std::vector<std::string> sql() {
        require_version();
        require_own_schema();
        add("CREATE EXTENSION IF NOT EXISTS postgres_fdw");
        for (const std::string& schema : {schema_, schema_ + "_sink"}) {
            add("DROP SCHEMA IF EXISTS " + quoted(schema) + " CASCADE");
            add("CREATE SCHEMA " + quoted(schema));
        }
        for (std::size_t shard = 0; shard < shards_.size(); ++shard)
            add_server(shard);
        for (const table* of : tables_.all()) {
            add_table(*of, of->name(), made_.name_of(*of), {});
            if (made_.has_history(*of))
                add_table(*of, of->name() + ".history", made_.history_of(*of), history_columns);
        }
        add_progress();
        return std::move(all_);
    }

private:
    static constexpr std::string_view history_columns =
        ", \"from_revision\" bigint, \"from_serial\" bigint, \"until_revision\" bigint, "
        "\"until_serial\" bigint";

    void add(std::string statement) { all_.push_back(std::move(statement)); }

    /// Of async_capable: a query asks all shards at once.
    void require_version() {
        add("DO $$ BEGIN IF current_setting('server_version_num')::int < 140000 THEN RAISE "
            "EXCEPTION 'a coordinator needs PostgreSQL 14 or later, and this is %', "
            "current_setting('server_version'); END IF; END $$");
    }

    /// Nothing is dropped that a coordinator did not make.
    void require_own_schema() {
        const std::string progress = quoted(schema_ + "_sink") + ".progress";
        add(fmt::format("DO $$ BEGIN IF to_regnamespace({}) IS NOT NULL AND to_regclass({}) IS "
                        "NULL THEN RAISE EXCEPTION USING MESSAGE = {}; END IF; END $$",
                        literal(quoted(schema_)), literal(progress),
                        literal("the schema " + schema_ +
                                " is there, and is no coordinator's; name "
                                "another database or another --schema")));
    }

    [[nodiscard]] std::string server(std::size_t shard) const {
        return quoted(sql_name(fmt::format("{}_shard_{}", schema_, shard + 1)));
    }

    void add_server(std::size_t shard) {
        const words at = parts_of_dsn(shards_[shard]);
        const std::string name = server(shard);
        add("DROP SERVER IF EXISTS " + name + " CASCADE");
        add("CREATE SERVER " + name + " FOREIGN DATA WRAPPER postgres_fdw" +
            options_of(at, {"host", "port", "dbname", "sslmode"},
                       "async_capable 'true', use_remote_estimate 'true', fetch_size '10000'"));
        add("CREATE USER MAPPING FOR CURRENT_USER SERVER " + name +
            options_of(at, {"user", "password"}));
    }

    /// `remote`: quoted, with its schema. The shards' table has the name `name`.
    void add_table(const table& of, const std::string& name, const std::string& remote,
                   std::string_view more) {
        std::string columns;
        for (const column& one : of.columns())
            columns += fmt::format("{}{} {}{}", columns.empty() ? "" : ", ", quoted(one.name),
                                   made_.type_of(one), one.is_nullable ? "" : " NOT NULL");
        const std::string& by = of.columns()[tables_.distribution(of)].name;
        add(fmt::format("CREATE TABLE {} ({}{}) PARTITION BY HASH ({})", remote, columns, more,
                        quoted(by)));
        for (std::size_t shard = 0; shard < shards_.size(); ++shard)
            add(fmt::format(
                "CREATE FOREIGN TABLE {}.{} PARTITION OF {} FOR VALUES WITH (MODULUS "
                "{}, REMAINDER {}) SERVER {} OPTIONS (schema_name {}, table_name {})",
                quoted(schema_), quoted(sql_name(fmt::format("{}~{}", name, shard + 1))), remote,
                shards_.size(), shard, server(shard), literal(schema_), literal(sql_name(name))));
    }

    void add_progress() {
        std::string all;
        const std::string own = quoted(schema_ + "_sink");
        for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
            const std::string name = own + "." + quoted(fmt::format("cursor~{}", shard + 1));
            add(fmt::format("CREATE FOREIGN TABLE {} (is_ready boolean, position bigint, revision "
                            "bigint) SERVER {} OPTIONS (schema_name {}, table_name 'cursor')",
                            name, server(shard), literal(schema_ + "_sink")));
            all += fmt::format("{}SELECT {} AS shard, * FROM {}", all.empty() ? "" : " UNION ALL ",
                               shard + 1, name);
        }
        add(fmt::format("CREATE VIEW {}.progress AS {}", own, all));
    }

    const std::vector<std::string>& shards_;
    const known_tables& tables_;
    const ddl& made_;
    std::string schema_;
    std::vector<std::string> all_;
};

} // namespace

std::map<std::string, std::string> parts_of_dsn(const std::string& dsn) {
    char* problem = nullptr;
    const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> found(
        PQconninfoParse(dsn.c_str(), &problem), PQconninfoFree);
    const std::unique_ptr<char, decltype(&PQfreemem)> why(problem, PQfreemem);
    if (!found)
        throw usage_error("a connection string cannot be read: " +
                          std::string(why ? why.get() : "no memory"));
    words parts;
    for (const PQconninfoOption* one = found.get(); one->keyword; ++one)
        if (one->val) parts[one->keyword] = one->val;
    return parts;
}

std::vector<std::string> coordinator_sql(const std::vector<std::string>& shards,
                                         const known_tables& tables, const ddl& made) {
    return coordinator(shards, tables, made).sql();
}

} // namespace chainbase::sink
