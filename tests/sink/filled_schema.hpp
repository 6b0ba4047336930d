#pragma once

#include <tests/sink/clusters.hpp>
#include <tests/sink/filled_database.hpp>

#include <memory>
#include <string>
#include <vector>

namespace chainbase::test {

/// A schema of its own with tables, in a server.
class filled_schema final : public filled_database {
public:
    filled_schema(std::string dsn, const std::vector<const table*>& tables,
                  const std::vector<std::string>& history = {})
        : filled_schema("of_test_" + std::to_string(++count()), std::move(dsn), tables, history) {}

    [[nodiscard]] const std::string& dsn() const { return dsn_; }
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const link_options& options() const { return options_; }
    [[nodiscard]] std::unique_ptr<database_link> another(bool reads_only = false) const override {
        return another(dsn_, reads_only);
    }
    [[nodiscard]] std::unique_ptr<database_link> another(const std::string& dsn,
                                                         bool reads_only = false) const {
        link_options how = options_;
        how.reads_only = reads_only;
        return open_postgres(dsn, how);
    }
    /// Name of a table in SQL.
    [[nodiscard]] std::string table_called(const std::string& of) const {
        return name_ + ".\"" + of + "\"";
    }

private:
    filled_schema(const std::string& name, std::string dsn, const std::vector<const table*>& tables,
                  const std::vector<std::string>& history)
        : filled_database(tables, {.tables = ddl({dialect::postgres, name, history})}),
          dsn_(std::move(dsn)), name_(name) {
        other_session(dsn_).run("DROP SCHEMA IF EXISTS " + name_ +
                                " CASCADE; DROP SCHEMA IF "
                                "EXISTS " +
                                name_ + "_sink CASCADE");
        link = open_postgres(dsn_, options_);
        make();
    }
    static int& count() {
        static int all = 0;
        return all;
    }

    std::string dsn_;
    std::string name_;
};

/// A batch of counters, each with this number.
inline batch counters(std::uint32_t begin, std::uint32_t end, std::uint32_t number) {
    batch made;
    for (std::uint32_t id = begin; id < end; ++id)
        put(made, counter(), id, counter_record(id, number));
    return made;
}

} // namespace chainbase::test
