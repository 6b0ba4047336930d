#pragma once

#include <archive/record/bytes.hpp>
#include <tools/sink/postgres/binary.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct pg_conn;
struct pg_result;

namespace chainbase::sink {
struct link_options;
}

namespace chainbase::sink::postgres {

/// A parameter of a statement, in its binary form, which is somebody else's.
struct parameter {
    type_number type;
    archive::bytes_view bytes;
    bool is_null = false;

    static parameter text(std::string_view of) { return {25, archive::as_bytes(of)}; }
    static parameter null(type_number of) { return {of, {}, true}; }
};

/// What a statement returned: rows in the binary form.
class result {
public:
    explicit result(pg_result* own) noexcept : own_(own) {}

    [[nodiscard]] std::size_t rows() const noexcept;
    [[nodiscard]] std::size_t columns() const noexcept;
    [[nodiscard]] type_number type_of(std::size_t column) const noexcept;
    [[nodiscard]] bool is_null(std::size_t row, std::size_t column) const noexcept;
    /// Valid as long as the result.
    [[nodiscard]] archive::bytes_view bytes(std::size_t row, std::size_t column) const noexcept;
    [[nodiscard]] std::string_view text(std::size_t row, std::size_t column) const noexcept;
    /// Of a bigint or integer.
    [[nodiscard]] std::int64_t number(std::size_t row, std::size_t column) const noexcept;
    /// Of a boolean.
    [[nodiscard]] bool is_true(std::size_t row, std::size_t column) const noexcept;

    [[nodiscard]] pg_result* get() const noexcept { return own_.get(); }

private:
    struct clear {
        void operator()(pg_result* one) const noexcept;
    };
    std::unique_ptr<pg_result, clear> own_;
};

/// What libpq connects to, and its name in messages.
class data_source {
public:
    /// Throws usage_error when libpq cannot read it; the message does not repeat it.
    explicit data_source(std::string dsn);

    [[nodiscard]] const std::string& dsn() const noexcept { return dsn_; }
    /// postgresql://USER@HOST:PORT/DATABASE, as far as it says so.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// For each of the hosts; 10 s unless it says otherwise, 0: without end.
    [[nodiscard]] std::chrono::seconds patience() const noexcept { return patience_; }

private:
    std::string dsn_;
    std::string name_;
    std::chrono::seconds patience_;
};

/// A connection to a server, and one transaction at a time.
///
/// All functions throw what database_link does, by the SQLSTATE of the server; a connection that
/// was lost is a retry_error. After an exception the connection is of no use any more: its owner
/// destroys it, and the server rolls back.
///
/// Statements never wait for each other: it sends without blocking, and takes what the server sends
/// meanwhile, so neither side waits for room in a buffer that only the other one can make.
///
/// A server that is silent is waited for as link_options say.
class connection {
public:
    /// The first version that has all that the sink asks for, as server_version_num: 12.
    static constexpr int least_version = 12'00'00;

    /// Connects. Both outlive it.
    connection(const data_source& to, const link_options& how);
    ~connection();
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    /// Runs one statement, outside of a pipeline. `what`: for messages, as "table x".
    result ask(const std::string& sql, std::span<const parameter> parameters = {},
               std::string_view what = {});
    result ask(const std::string& sql, std::initializer_list<parameter> parameters,
               std::string_view what = {}) {
        return ask(sql, std::span(parameters.begin(), parameters.size()), what);
    }
    /// As ask() in two steps: what happens between them is done while the server works.
    void begin_to_ask(const std::string& sql, std::string_view what);
    result answer();

    /// @name A pipeline: statements whose results are looked at when all were sent
    /// @{
    void begin_pipeline();
    /// Parameters are copied. Prepares the statement if this connection has not yet. Throws when an
    /// earlier one failed.
    void send(const std::string& sql, std::span<const parameter> parameters,
              std::string_view what = {});
    void send(const std::string& sql, std::initializer_list<parameter> parameters = {},
              std::string_view what = {}) {
        send(sql, std::span(parameters.begin(), parameters.size()), what);
    }
    /// As send(), of a statement that will not be sent again.
    void send_once(const std::string& sql, std::string_view what = {});
    /// Waits for all.
    void end_pipeline();
    /// @}

    /// @name COPY FROM STDIN: what it copies in parts, in its binary form
    /// @{
    void begin_copy(const std::string& sql, std::string_view what);
    void copy(archive::bytes_view part);
    void end_copy();
    /// @}

private:
    enum class purpose : std::uint8_t { work, probe };
    using clock = std::chrono::steady_clock;

    connection(const data_source& to, const link_options& how, purpose what);
    void connect();
    void require_version() const;
    void set_up();
    void require(int is_sent, std::string_view what);
    /// Sends what libpq has kept; takes what the server sent.
    void flush();
    /// Until the server sent something, or there is room to send; false: it was lost.
    bool wait(bool for_room);
    /// poll() of the socket, until `end`; false: nothing happened.
    [[nodiscard]] bool poll_until(short what, clock::time_point end);
    void require_working(clock::time_point since);
    [[nodiscard]] bool is_idle(std::int64_t process);
    /// The next result; nothing: those of the statement are over.
    [[nodiscard]] pg_result* next();
    void take_results();
    void note(pg_result* one);
    /// Throws what went wrong. `failed`: null, then the connection did.
    [[noreturn]] void fail(const pg_result* failed, std::string_view what);

    const data_source& to_;
    const link_options& how_;
    const std::string& name_;
    const purpose purpose_;
    pg_conn* own_ = nullptr;
    std::int64_t process_ = 0;                    ///< of the server
    std::map<std::string, std::string> prepared_; ///< names of statements
    std::deque<std::string> sent_;                ///< in the pipeline: for messages
    std::string copied_to_;
    bool is_synced_ = false; ///< the pipeline's end was answered
};

} // namespace chainbase::sink::postgres
