#include <archive/record/integers.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/sink/database.hpp>
#include <tools/sink/sqlite/connection.hpp>

#include <fmt/format.h>
#include <sqlite3.h>

#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

namespace chainbase::sink::sqlite {

namespace {

constexpr std::chrono::milliseconds patience{5'000}; ///< for who writes the file, too
constexpr std::chrono::milliseconds pause{10};

std::string_view advice_for(int code) {
    switch (code) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return "another process writes the file";
    case SQLITE_FULL:
        return "make room on its disk";
    case SQLITE_CANTOPEN:
        return "look whether file and folder are there, and who may read and write them";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return "the file is damaged, or none of SQLite: move it away, and let the sink make "
               "another one";
    case SQLITE_CONSTRAINT:
        return "its tables have rows, or rules, that are not the sink's: begin anew with "
               "--bootstrap again";
    case SQLITE_TOOBIG:
        return "SQLite has no values of more than 1,000,000,000 bytes: use PostgreSQL";
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return "make file and folder writable for this user";
    default:
        return {};
    }
}

[[noreturn]] void throw_for(int code, const std::string& message) {
    switch (code) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_NOMEM:
    case SQLITE_INTERRUPT:
    case SQLITE_PROTOCOL:
        throw retry_error(message);
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        throw access_error(message);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        throw damaged_error(message);
    case SQLITE_TOOBIG:
        throw limit_error(message);
    default:
        throw usage_error(message);
    }
}

} // namespace

// --- connection ----------------------------------------------------------------------------------

connection::connection(const std::string& file, const link_options& how) : file_(file), how_(how) {
    const int flags =
        how.reads_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    try {
        if (sqlite3_open_v2(file.c_str(), &db_, flags | SQLITE_OPEN_NOMUTEX, nullptr) != SQLITE_OK)
            fail("open it");
        sqlite3_extended_result_codes(db_, 1);
        sqlite3_busy_handler(db_, &wait, this);
        if (!how.reads_only) {
            run("PRAGMA journal_mode = WAL");
            run("PRAGMA synchronous = FULL");
        }
    } catch (...) {
        sqlite3_close_v2(db_);
        throw;
    }
}

connection::~connection() {
    sqlite3_close_v2(db_);
}

/// Returns 0 when it was waited for long enough: then SQLITE_BUSY.
int connection::wait(void* own, int times) noexcept {
    if (times >= patience / pause || static_cast<connection*>(own)->how_.is_over()) return 0;
    std::this_thread::sleep_for(pause);
    return 1;
}

statement connection::prepare(const std::string& sql) {
    sqlite3_stmt* made = nullptr;
    const int code = sqlite3_prepare_v3(db_, sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &made, nullptr);
    if (code != SQLITE_OK) fail(sql);
    return {*this, made};
}

void connection::run(const std::string& sql) {
    if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail(sql);
}

std::int64_t connection::changes() const noexcept {
    return sqlite3_changes64(db_);
}

bool connection::has_table(std::string_view name) {
    statement look = prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?");
    look.bind(0, name);
    return look.step();
}

void connection::fail(const std::string& doing) const {
    constexpr std::size_t shown = 200;
    constexpr int without_details = 0xFF;
    const int code = db_ ? sqlite3_extended_errcode(db_) : SQLITE_NOMEM;
    const std::string_view advice = advice_for(code & without_details);
    std::string what = doing.substr(0, shown);
    if (what.size() < doing.size()) what += "...";
    throw_for(code & without_details, fmt::format("sqlite:{}: {} (code {}; {}){}{}", file_,
                                                  db_ ? sqlite3_errmsg(db_) : "no memory", code,
                                                  what, advice.empty() ? "" : "; ", advice));
}

transaction::transaction(connection& of, kind what) : of_(of) {
    of_.run(what == kind::writes ? "BEGIN IMMEDIATE" : "BEGIN");
}

transaction::~transaction() {
    const bool is_open =
        sqlite3_get_autocommit(of_.db_) == 0; // some errors roll back by themselves
    if (is_open) sqlite3_exec(of_.db_, "ROLLBACK", nullptr, nullptr, nullptr);
}

// --- statement -----------------------------------------------------------------------------------

void statement::finalize(sqlite3_stmt* one) noexcept {
    sqlite3_finalize(one);
}

void statement::require(int code) const {
    if (code != SQLITE_OK) of_->fail(sqlite3_sql(made_.get()));
}

void statement::bind(int at, std::int64_t number) {
    require(sqlite3_bind_int64(made_.get(), at + 1, number));
}

void statement::bind(int at, std::string_view text) {
    require(sqlite3_bind_text64(made_.get(), at + 1, text.data() ? text.data() : "", text.size(),
                                SQLITE_STATIC, SQLITE_UTF8));
}

void statement::bind_null(int at) {
    require(sqlite3_bind_null(made_.get(), at + 1));
}

void statement::bind_blob(int at, std::span<const std::byte> bytes) {
    if (bytes.empty()) return require(sqlite3_bind_zeroblob(made_.get(), at + 1, 0));
    require(sqlite3_bind_blob64(made_.get(), at + 1, bytes.data(), bytes.size(), SQLITE_STATIC));
}

bool statement::step() {
    const int code = sqlite3_step(made_.get());
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) {
        const std::string sql = sqlite3_sql(made_.get());
        try {
            of_->fail(sql);
        } catch (...) {
            reset();
            throw;
        }
    }
    reset();
    return false;
}

void statement::run() {
    while (step()) {
    }
}

void statement::reset() noexcept {
    sqlite3_reset(made_.get());
}

bool statement::is_null(int at) const noexcept {
    return sqlite3_column_type(made_.get(), at) == SQLITE_NULL;
}

std::int64_t statement::number(int at) const noexcept {
    return sqlite3_column_int64(made_.get(), at);
}

std::string_view statement::text(int at) const noexcept {
    const auto* from = reinterpret_cast<const char*>(sqlite3_column_text(made_.get(), at));
    const int bytes = sqlite3_column_bytes(made_.get(), at);
    return from ? std::string_view(from, static_cast<std::size_t>(bytes)) : std::string_view();
}

} // namespace chainbase::sink::sqlite
