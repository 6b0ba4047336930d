#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace chainbase::test {

/// PostgreSQL servers of a test (tests/programs/postgres_servers.py), which end with the object, or
/// with the test's process.
///
/// One thread calls it.
class clusters {
public:
    /// Starts so many.
    explicit clusters(std::size_t count);
    ~clusters();
    clusters(const clusters&) = delete;
    clusters& operator=(const clusters&) = delete;

    /// Those that all tests of a process use, which leave it as it was; null: there are none here,
    /// and the test says that it is skipped.
    static clusters* shared();

    [[nodiscard]] std::size_t count() const noexcept { return dsns_.size(); }
    [[nodiscard]] const std::string& dsn(std::size_t number = 0) const { return dsns_.at(number); }
    /// Why there are none; empty if there are.
    [[nodiscard]] const std::string& missing() const noexcept { return missing_; }

    /// "kill 0": the script says which words there are. Returns the answer; throws when it failed.
    std::string command(const std::string& words);

private:
    [[nodiscard]] std::string line();

    pid_t process_ = 0;
    std::FILE* to_ = nullptr;
    std::FILE* from_ = nullptr;
    std::string missing_;
    std::vector<std::string> dsns_;
};

/// SQL as another program runs it. `dsn`: of libpq.
class other_session {
public:
    explicit other_session(const std::string& dsn);
    ~other_session();
    other_session(const other_session&) = delete;
    other_session& operator=(const other_session&) = delete;

    /// The rows, their values between `|`; throws when it fails.
    std::vector<std::string> run(const std::string& sql);

private:
    struct connection;
    std::unique_ptr<connection> own_;
};

} // namespace chainbase::test
