#pragma once

#include <tests/sink/clusters.hpp>
#include <tests/sink/row_changes.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace chainbase::test {

/// A schema of its own with tables, in a server, whose cursor moves with each change.
class filled_schema {
public:
    filled_schema(std::string dsn, const std::vector<const table*>& tables,
                  const std::vector<std::string>& history = {})
        : dsn_(std::move(dsn)), tables_(tables), name_("of_test_" + std::to_string(++count())),
          options_{.tables = ddl({dialect::postgres, name_, history})} {
        other_session(dsn_).run("DROP SCHEMA IF EXISTS " + name_ +
                                " CASCADE; DROP SCHEMA IF "
                                "EXISTS " +
                                name_ + "_sink CASCADE");
        link = open_postgres(dsn_, options_);
        make();
    }

    [[nodiscard]] const std::string& dsn() const { return dsn_; }
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const link_options& options() const { return options_; }
    [[nodiscard]] std::unique_ptr<database_link> another(bool reads_only = false) const {
        return another(dsn_, reads_only);
    }
    [[nodiscard]] std::unique_ptr<database_link> another(const std::string& dsn,
                                                         bool reads_only = false) const {
        link_options how = options_;
        how.reads_only = reads_only;
        return open_postgres(dsn, how);
    }

    void make() {
        std::vector<std::string> statements = options_.tables.begin();
        for (const table* one : tables_) {
            std::ranges::move(options_.tables.create(*one, 0, true),
                              std::back_inserter(statements));
            std::ranges::move(options_.tables.index(*one), std::back_inserter(statements));
        }
        link->run(statements);
        link->run(statements);
    }
    void begin(const cursor& from) {
        link->begin_bootstrap(link->where(), from, tables_, "the catalogue");
        now = from;
    }
    void apply(const batch& changes, const cursor& to) {
        link->apply(changes, now, to);
        now = to;
    }
    [[nodiscard]] cursor next() const {
        cursor to = now;
        to.at = to.at.value() + 100;
        ++to.revision;
        return to;
    }
    void apply(const batch& changes) { apply(changes, next()); }
    /// Name of a table in SQL.
    [[nodiscard]] std::string table_called(const std::string& of) const {
        return name_ + ".\"" + of + "\"";
    }

    std::unique_ptr<database_link> link;
    cursor now;

private:
    static int& count() {
        static int all = 0;
        return all;
    }

    std::string dsn_;
    std::vector<const table*> tables_;
    std::string name_;
    link_options options_;
};

/// A batch of counters, each with this number.
inline batch counters(std::uint32_t begin, std::uint32_t end, std::uint32_t number) {
    batch made;
    for (std::uint32_t id = begin; id < end; ++id)
        put(made, counter(), id, counter_record(id, number));
    return made;
}

} // namespace chainbase::test
