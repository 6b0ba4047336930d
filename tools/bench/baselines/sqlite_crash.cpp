#include <pool_allocator/base/error.hpp>
#include <tools/bench/baselines/account_bytes.hpp>

#include <sqlite3.h>

#include <cstring>
#include <string>
#include <utility>

namespace chainbase::bench {

namespace {

/// Accounts by name, in a table without other keys; a block is a transaction of the write-ahead
/// log.
class sqlite_accounts final : public accounts_as_bytes<sqlite_accounts> {
public:
    sqlite_accounts(const crash_places& at, const char* synchronous) {
        const int opened = sqlite3_open((at.disk / "accounts.sqlite").c_str(), &db_);
        require(opened, "open");
        run("PRAGMA journal_mode=WAL");
        run(std::string("PRAGMA synchronous=") + synchronous);
        run("PRAGMA locking_mode=EXCLUSIVE"); // avoids shared memory
        run("PRAGMA cache_size=-1048576");    // a GiB
        run("CREATE TABLE IF NOT EXISTS account(name BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID");
        run("CREATE TABLE IF NOT EXISTS head(id INTEGER PRIMARY KEY, number INTEGER)");
        find_ = prepared("SELECT value FROM account WHERE name=?");
        change_ = prepared("UPDATE account SET value=? WHERE name=?");
        insert_ = prepared("INSERT INTO account(value, name) VALUES(?, ?)");
        set_head_ = prepared("INSERT OR REPLACE INTO head VALUES(0, ?)");
    }
    ~sqlite_accounts() override { end(); }
    sqlite_accounts(const sqlite_accounts&) = delete;
    sqlite_accounts& operator=(const sqlite_accounts&) = delete;

    std::uint64_t last_block() override {
        sqlite3_stmt* ask = prepared("SELECT number FROM head");
        step(ask, SQLITE_ROW);
        const auto number = static_cast<std::uint64_t>(sqlite3_column_int64(ask, 0));
        sqlite3_finalize(ask);
        return number;
    }
    std::int64_t money() override {
        sqlite3_stmt* all = prepared("SELECT value FROM account");
        std::int64_t sum = 0;
        while (sqlite3_step(all) == SQLITE_ROW)
            sum += account_in(all).balance;
        require(sqlite3_finalize(all), "scan");
        return sum;
    }
    void close() override { end(); }

private:
    friend accounts_as_bytes;
    static constexpr std::uint32_t accounts_at_once = UINT32_MAX;

    void begin() { run("BEGIN"); }
    void commit() { run("COMMIT"); }
    crash_account get(const account_name& name) {
        sqlite3_bind_blob(find_, 1, &name, sizeof name, SQLITE_STATIC);
        step(find_, SQLITE_ROW);
        const crash_account value = account_in(find_);
        sqlite3_reset(find_);
        return value;
    }
    void put(const account_name& name, const crash_account& value) { store(change_, name, value); }
    void put_new(const account_name& name, const crash_account& value) {
        store(insert_, name, value);
    }

    void require(int code, const char* what) const {
        if (code != SQLITE_OK)
            throw error(std::string("sqlite: ") + what + ": " + sqlite3_errmsg(db_));
    }
    void run(const std::string& statement) {
        require(sqlite3_exec(db_, statement.c_str(), nullptr, nullptr, nullptr), statement.c_str());
    }
    sqlite3_stmt* prepared(const char* text) {
        sqlite3_stmt* made = nullptr;
        require(sqlite3_prepare_v2(db_, text, -1, &made, nullptr), text);
        return made;
    }
    void step(sqlite3_stmt* what, int expected) {
        if (sqlite3_step(what) != expected)
            throw error(std::string("sqlite: ") + sqlite3_errmsg(db_));
    }
    static crash_account account_in(sqlite3_stmt* row) noexcept {
        crash_account value;
        std::memcpy(&value, sqlite3_column_blob(row, 0), sizeof value);
        return value;
    }
    void store(sqlite3_stmt* how, const account_name& name, const crash_account& value) {
        sqlite3_bind_blob(how, 1, &value, sizeof value, SQLITE_STATIC);
        sqlite3_bind_blob(how, 2, &name, sizeof name, SQLITE_STATIC);
        step(how, SQLITE_DONE);
        sqlite3_reset(how);
    }
    void put_head(std::uint64_t number) {
        sqlite3_bind_int64(set_head_, 1, static_cast<sqlite3_int64>(number));
        step(set_head_, SQLITE_DONE);
        sqlite3_reset(set_head_);
    }
    void end() noexcept {
        for (sqlite3_stmt** one : {&find_, &change_, &insert_, &set_head_})
            sqlite3_finalize(std::exchange(*one, nullptr));
        sqlite3_close(std::exchange(db_, nullptr));
    }

    sqlite3* db_ = nullptr;
    sqlite3_stmt* find_ = nullptr;
    sqlite3_stmt* change_ = nullptr;
    sqlite3_stmt* insert_ = nullptr;
    sqlite3_stmt* set_head_ = nullptr;
};

} // namespace

std::unique_ptr<crash_engine> open_sqlite_full(const crash_places& at) {
    return std::make_unique<sqlite_accounts>(at, "FULL");
}

std::unique_ptr<crash_engine> open_sqlite_normal(const crash_places& at) {
    return std::make_unique<sqlite_accounts>(at, "NORMAL");
}

} // namespace chainbase::bench
