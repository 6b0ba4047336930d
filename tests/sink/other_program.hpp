#pragma once

#include <catch2/catch.hpp>
#include <sqlite3.h>

#include <string>
#include <vector>

namespace chainbase::test {

/// SQL in a file, as another program runs it.
class other_program {
public:
    explicit other_program(const std::string& file) {
        REQUIRE(sqlite3_open(file.c_str(), &db_) == SQLITE_OK);
        sqlite3_busy_timeout(db_, 5'000);
    }
    ~other_program() { sqlite3_close(db_); }
    other_program(const other_program&) = delete;
    other_program& operator=(const other_program&) = delete;

    /// The rows, their values between `|`.
    std::vector<std::string> run(const std::string& sql) {
        std::vector<std::string> rows;
        char* message = nullptr;
        const auto add = [](void* to, int count, char** values, char**) {
            std::string row;
            for (int i = 0; i < count; ++i)
                row += (i == 0 ? "" : "|") + std::string(values[i] ? values[i] : "NULL");
            static_cast<std::vector<std::string>*>(to)->push_back(row);
            return 0;
        };
        const int code = sqlite3_exec(db_, sql.c_str(), add, &rows, &message);
        const std::string problem = message ? message : "";
        sqlite3_free(message);
        CAPTURE(sql, problem);
        REQUIRE(code == SQLITE_OK);
        return rows;
    }

private:
    sqlite3* db_ = nullptr;
};

} // namespace chainbase::test
