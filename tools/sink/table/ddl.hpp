#pragma once

#include <tools/sink/table/table.hpp>

#include <span>
#include <string>
#include <vector>

namespace chainbase::sink {

enum class dialect { postgres, sqlite, citus };

/// How tables are made.
struct ddl_options {
    dialect in = dialect::postgres;
    std::string schema = "chainbase"; ///< that of the sink's own tables is SCHEMA_sink
    std::vector<std::string> history; ///< types; "all"
};

/// The SQL of tables. Each statement can be run again where it was run before.
///
/// Thread-safe.
class ddl {
public:
    explicit ddl(ddl_options how) : how_(std::move(how)) {}

    [[nodiscard]] const ddl_options& options() const noexcept { return how_; }
    [[nodiscard]] bool has_history(const table& of) const;

    /// The schemas, `cursor` and `types`, and with PostgreSQL the function advance().
    [[nodiscard]] std::vector<std::string> begin() const;
    /// The table of a type, its comments; `.history` and `.removed` if they are wanted.
    /// `distribution`: the column that Citus distributes by.
    [[nodiscard]] std::vector<std::string> create(const table& of, std::size_t distribution,
                                                  bool with_removed) const;
    /// Its indexes: after a bootstrap.
    [[nodiscard]] std::vector<std::string> index(const table& of) const;

    /// @name Names, quoted, with their schema
    /// @{
    [[nodiscard]] std::string name_of(const table& of) const;
    [[nodiscard]] std::string history_of(const table& of) const;
    [[nodiscard]] std::string removed_of(const table& of) const;
    [[nodiscard]] std::string own(std::string_view name) const; ///< cursor, types
    /// @}
    /// The SQL type of a column.
    [[nodiscard]] std::string type_of(const column& of) const;

private:
    ddl_options how_;
};

} // namespace chainbase::sink
