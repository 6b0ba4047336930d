#pragma once

#include <tools/sink/table/table.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chainbase::sink {

enum class dialect { postgres, sqlite, citus };

/// How tables are made.
struct ddl_options {
    dialect in = dialect::postgres;
    std::string schema = "chainbase"; ///< that of the sink's own tables is SCHEMA_sink
    std::vector<std::string> history; ///< types; "all"
};

/// The type in PostgreSQL of a column that is no list, or of an element of one.
[[nodiscard]] std::string_view postgres_type(column_kind kind) noexcept;

/// The SQL of tables. Each statement can be run again where it was run before.
///
/// Thread-safe.
class ddl {
public:
    /// Of the sink's own tables: `format` in `types`.
    static constexpr int format = 1;
    /// The last column of TYPE.removed, which no field can be called: the block in which a row
    /// moved there.
    static constexpr std::string_view removed_in = "removed~revision";

    explicit ddl(ddl_options how) : how_(std::move(how)) {}

    [[nodiscard]] const ddl_options& options() const noexcept { return how_; }
    [[nodiscard]] bool has_history(const table& of) const;

    /// The schemas; `cursor`, which has no row yet; `types`, whose row has no catalogue; with
    /// PostgreSQL the function advance(), which moves the cursor, and raises CB001 where it is
    /// elsewhere. Columns of `cursor`: is_ready, state, position (NULL: no feed), revision, serial,
    /// epoch, since, shard, shards; of `types`: format, catalogue.
    [[nodiscard]] std::vector<std::string> begin() const;
    /// The table of a type, its comments; `.history` and `.removed` if they are wanted. With a
    /// history PostgreSQL has the function "TYPE.at"(revision), the rows as of the block of that
    /// revision. `distribution`: the column that Citus distributes by. Throws usage_error when a
    /// field is called as a column of the history.
    [[nodiscard]] std::vector<std::string> create(const table& of, std::size_t distribution,
                                                  bool with_removed) const;
    /// Its indexes: after a bootstrap.
    [[nodiscard]] std::vector<std::string> index(const table& of) const;

    /// @name Names, quoted, with their schema
    /// @{
    [[nodiscard]] std::string name_of(const table& of) const;
    [[nodiscard]] std::string history_of(const table& of) const;
    [[nodiscard]] std::string removed_of(const table& of) const;
    [[nodiscard]] std::string at_of(const table& of) const;     ///< of the function
    [[nodiscard]] std::string own(std::string_view name) const; ///< cursor, types, advance
    /// @}
    /// The SQL type of a column; empty: none is declared.
    [[nodiscard]] std::string type_of(const column& of) const;

private:
    [[nodiscard]] bool is_sqlite() const noexcept { return how_.in == dialect::sqlite; }
    [[nodiscard]] std::string in_schema(std::string_view name) const;
    [[nodiscard]] std::string advance() const;
    [[nodiscard]] std::string columns_of(const table& of) const;
    [[nodiscard]] std::string as_of_revision(const table& of) const;
    void add_comments(const table& of, std::vector<std::string>& to) const;
    void require_no_other_history(const table& of) const;
    [[nodiscard]] std::string part_of(const column& of, std::size_t longs) const;
    [[nodiscard]] static std::string index_name(const table& of, const table_key& key);
    [[nodiscard]] static std::string distributed(const std::string& name, const std::string& by);
    [[nodiscard]] static std::string reference(const std::string& name);

    ddl_options how_;
};

} // namespace chainbase::sink
