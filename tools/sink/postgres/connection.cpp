#include <archive/record/integers.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/interruption.hpp>
#include <tools/sink/database.hpp>
#include <tools/sink/postgres/connection.hpp>
#include <tools/sink/postgres/errors.hpp>

#include <fmt/format.h>
#include <libpq-fe.h>
#include <poll.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <utility>

namespace chainbase::sink::postgres {

namespace {

constexpr std::chrono::seconds usual_patience{10};
constexpr std::chrono::milliseconds patience_when_over{500};
constexpr std::chrono::milliseconds longest_poll{100}; ///< until a signal is noticed

/// The server said nothing.
class silent_error : public retry_error {
public:
    using retry_error::retry_error;
};

struct free_options {
    void operator()(PQconninfoOption* all) const noexcept { PQconninfoFree(all); }
};
using options = std::unique_ptr<PQconninfoOption, free_options>;

/// What libpq says is wrong with a DSN repeats parts of it, which may be of a password.
std::string without_quotes(std::string_view words) {
    std::string text;
    bool is_quoted = false;
    for (const char c : words) {
        if (c == '"') {
            text += is_quoted ? "" : "\"...\"";
            is_quoted = !is_quoted;
        } else if (!is_quoted && c != '\n') {
            text += c;
        }
    }
    return text;
}

options parsed(const std::string& dsn) {
    if (dsn.find('\0') != std::string::npos)
        throw usage_error("a DSN has a zero byte; give one as libpq reads it");
    char* problem = nullptr;
    options found(PQconninfoParse(dsn.c_str(), &problem));
    const std::string words = problem ? problem : "";
    PQfreemem(problem);
    if (!found)
        throw usage_error(fmt::format("a DSN is none that libpq reads: {}; give it as 'host=a "
                                      "dbname=b user=c' or postgresql://c@a/b",
                                      without_quotes(words)));
    return found;
}

/// What the DSN says, or the environment.
std::string word(const PQconninfoOption* given, const PQconninfoOption* usual,
                 std::string_view name) {
    for (const PQconninfoOption* from : {given, usual})
        for (const PQconninfoOption* one = from; one && one->keyword; ++one)
            if (name == one->keyword && one->val && *one->val) return one->val;
    return {};
}

/// A host that is a folder of sockets has slashes.
std::string name_of(const PQconninfoOption* given, const PQconninfoOption* usual) {
    const auto part = [&](std::string_view name) { return word(given, usual, name); };
    if (const std::string service = part("service"); !service.empty())
        return "postgresql service " + service;
    std::string host = part("host");
    if (host.empty()) host = part("hostaddr");
    const std::string user = part("user");
    const std::string port = part("port");
    return fmt::format("postgresql://{}{}{}{}/{}", user, user.empty() ? "" : "@", host,
                       port.empty() ? "" : ":" + port,
                       part("dbname").empty() ? user : part("dbname"));
}

std::chrono::seconds patience_of(const std::string& text) {
    int seconds = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (problem != std::errc() || seconds < 0) return usual_patience;
    return std::chrono::seconds(seconds);
}

long long seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::round<std::chrono::seconds>(std::chrono::steady_clock::now() - begin)
        .count();
}

/// Values of libpq's C interface, of parameters.
struct raw_parameters {
    explicit raw_parameters(std::span<const parameter> all) {
        for (const parameter& one : all) {
            types.push_back(one.type);
            values.push_back(one.is_null         ? nullptr
                             : one.bytes.empty() ? ""
                                                 : reinterpret_cast<const char*>(one.bytes.data()));
            lengths.push_back(static_cast<int>(one.bytes.size()));
            formats.push_back(1);
        }
    }
    [[nodiscard]] int count() const { return static_cast<int>(types.size()); }

    std::vector<Oid> types;
    std::vector<const char*> values;
    std::vector<int> lengths;
    std::vector<int> formats;
};

void require_short(std::span<const parameter> all, const std::string& name, std::string_view what) {
    for (const parameter& one : all)
        if (one.bytes.size() > INT_MAX)
            throw limit_error(fmt::format("{}, {}: a value of {} bytes is longer than PostgreSQL's "
                                          "protocol can send; leave the type out",
                                          name, what, one.bytes.size()));
}

bool is_success(ExecStatusType status) {
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_COPY_IN ||
           status == PGRES_PIPELINE_SYNC;
}

int position(std::size_t of) {
    return static_cast<int>(of);
}

/// What a server says is wrong, and of COPY where.
std::string words_of(const PGresult* failed) {
    std::string words;
    for (const int field :
         {PG_DIAG_MESSAGE_PRIMARY, PG_DIAG_MESSAGE_DETAIL, PG_DIAG_MESSAGE_HINT, PG_DIAG_CONTEXT}) {
        const char* const found = PQresultErrorField(failed, field);
        if (!found) continue;
        const std::string_view text = found;
        if (field == PG_DIAG_CONTEXT && !text.starts_with("COPY")) continue;
        words += (words.empty() ? "" : "\n") + std::string(text);
    }
    return words;
}

} // namespace

// --- results -------------------------------------------------------------------------------------

void result::clear::operator()(pg_result* one) const noexcept {
    PQclear(one);
}
std::size_t result::rows() const noexcept {
    return static_cast<std::size_t>(PQntuples(get()));
}
std::size_t result::columns() const noexcept {
    return static_cast<std::size_t>(PQnfields(get()));
}
type_number result::type_of(std::size_t column) const noexcept {
    return PQftype(get(), position(column));
}
bool result::is_null(std::size_t row, std::size_t column) const noexcept {
    return PQgetisnull(get(), position(row), position(column)) != 0;
}
archive::bytes_view result::bytes(std::size_t row, std::size_t column) const noexcept {
    const char* const at = PQgetvalue(get(), position(row), position(column));
    const int size = PQgetlength(get(), position(row), position(column));
    return {reinterpret_cast<const std::byte*>(at), static_cast<std::size_t>(size)};
}
std::string_view result::text(std::size_t row, std::size_t column) const noexcept {
    return archive::as_text(bytes(row, column));
}
std::int64_t result::number(std::size_t row, std::size_t column) const noexcept {
    const archive::bytes_view all = bytes(row, column);
    if (all.size() == sizeof(std::int64_t))
        return archive::detail::load_big<std::int64_t>(all.data());
    if (all.size() == sizeof(std::int32_t))
        return archive::detail::load_big<std::int32_t>(all.data());
    return 0;
}
bool result::is_true(std::size_t row, std::size_t column) const noexcept {
    const archive::bytes_view all = bytes(row, column);
    return !all.empty() && all.front() != std::byte{0};
}

// --- connecting ----------------------------------------------------------------------------------

data_source::data_source(std::string dsn) : dsn_(std::move(dsn)) {
    const options given = parsed(dsn_);
    const options usual(PQconndefaults());
    name_ = name_of(given.get(), usual.get());
    patience_ = patience_of(word(given.get(), usual.get(), "connect_timeout"));
    const std::string hosts = word(given.get(), usual.get(), "host");
    patience_ *= 1 + std::ranges::count(hosts, ',');
}

connection::connection(const data_source& to, const link_options& how)
    : connection(to, how, purpose::work) {}

connection::connection(const data_source& to, const link_options& how, purpose what)
    : to_(to), how_(how), name_(to.name()), purpose_(what) {
    try {
        connect();
        require_version();
        set_up();
    } catch (...) {
        PQfinish(own_);
        throw;
    }
}

connection::~connection() {
    PQfinish(own_);
}

/// What stands behind the DSN replaces what it says; the name of the application and the keepalives
/// stand before it.
void connection::connect() {
    constexpr std::array names{"fallback_application_name", "keepalives_idle",
                               "keepalives_interval",       "keepalives_count",
                               "tcp_user_timeout",          "dbname",
                               "client_encoding",           static_cast<const char*>(nullptr)};
    const std::array values{"chainbase-sink",
                            "30",
                            "10",
                            "3",
                            "60000",
                            to_.dsn().c_str(),
                            "UTF8",
                            static_cast<const char*>(nullptr)};
    own_ = PQconnectStartParams(names.data(), values.data(), /*expand_dbname=*/1);
    if (!own_) throw std::bad_alloc();
    PQsetErrorVerbosity(own_, PQERRORS_VERBOSE); // with SQLSTATE
    PQsetNoticeProcessor(own_, [](void*, const char*) {}, nullptr);
    const bool has_end = to_.patience() != std::chrono::seconds(0);
    const auto end = has_end ? clock::now() + to_.patience() : clock::time_point::max();
    auto status = PQstatus(own_) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;
    while (status != PGRES_POLLING_OK && status != PGRES_POLLING_FAILED) {
        const short what = status == PGRES_POLLING_READING ? POLLIN : POLLOUT;
        if (!poll_until(what, end))
            throw silent_error(fmt::format("{}: not connected within {} s (connect_timeout)", name_,
                                           to_.patience().count()));
        status = PQconnectPoll(own_);
    }
    if (status == PGRES_POLLING_FAILED)
        throw_not_connected(name_, PQerrorMessage(own_), PQconnectionNeedsPassword(own_) != 0);
    PQsetErrorVerbosity(own_, PQERRORS_DEFAULT);
    if (PQsetnonblocking(own_, 1) != 0) fail(nullptr, "connecting");
}

/// A server without pipelines answers them all the same. What only a later server has: the setting
/// plan_cache_mode (12), hashtextextended() (11), FOR VALUES WITH of a coordinator (11).
void connection::require_version() const {
    const int version = PQserverVersion(own_);
    if (version >= least_version) return;
    const char* const words = PQparameterStatus(own_, "server_version");
    throw usage_error(fmt::format("{}: its server is of version {}, and the sink needs {} or "
                                  "later; name another server, or upgrade this one (pg_upgrade)",
                                  name_, words ? words : std::to_string(version),
                                  least_version / 10'000));
}

/// Settings that a role or a database may have would change what statements mean, or end them.
/// Plans are made once for each statement, not for each batch of values. A commit is on storage.
void connection::set_up() {
    const char* const encoding = PQparameterStatus(own_, "server_encoding");
    if (!encoding || std::string_view(encoding) != "UTF8")
        throw usage_error(fmt::format("{}: its encoding is {}; create a database with CREATE "
                                      "DATABASE ... ENCODING 'UTF8' TEMPLATE template0",
                                      name_, encoding ? encoding : "not known"));
    constexpr const char* settings =
        "SELECT pg_catalog.set_config(name, value, false), pg_catalog.pg_backend_pid() FROM "
        "(VALUES ('search_path', "
        "'pg_catalog'), ('standard_conforming_strings', 'on'), ('statement_timeout', '0'), "
        "('lock_timeout', '60s'), ('idle_in_transaction_session_timeout', '0'), "
        "('plan_cache_mode', 'force_generic_plan')) AS of(name, value) UNION ALL "
        "SELECT pg_catalog.set_config('synchronous_commit', 'on', false), 0 "
        "WHERE pg_catalog.current_setting('synchronous_commit') = 'off'";
    process_ = ask(settings, {}, "connecting").number(0, 1); // a pooler has others in libpq
    if (how_.reads_only)
        ask("SELECT pg_catalog.set_config('default_transaction_read_only', 'on', false)", {},
            "connecting");
}

// --- statements ----------------------------------------------------------------------------------

void connection::require(int is_sent, std::string_view what) {
    if (is_sent != 1) fail(nullptr, what);
}

void connection::fail(const pg_result* failed, std::string_view what) {
    const char* const state = failed ? PQresultErrorField(failed, PG_DIAG_SQLSTATE) : nullptr;
    const std::string words = state ? words_of(failed) : PQerrorMessage(own_);
    if (!state && PQstatus(own_) == CONNECTION_OK)
        throw io_error(fmt::format("{}{}{}: {}; connect to a PostgreSQL server", name_,
                                   what.empty() ? "" : ", ", what, words));
    throw_error(name_, what, state ? state : "", words);
}

bool connection::wait(bool for_room) {
    const short what = static_cast<short>(POLLIN | (for_room ? POLLOUT : 0));
    const auto since = clock::now();
    while (!poll_until(what, clock::now() + how_.answers_within))
        require_working(since);
    return PQconsumeInput(own_) == 1;
}

/// In short turns, between which a signal is noticed.
bool connection::poll_until(short what, clock::time_point end) {
    std::optional<clock::time_point> over;
    for (pollfd one{PQsocket(own_), what, 0}; clock::now() < end;) {
        const auto left = std::min<clock::duration>(end - clock::now(), longest_poll);
        const auto turn = std::chrono::ceil<std::chrono::milliseconds>(left);
        const int found = poll(&one, 1, static_cast<int>(std::max<long>(turn.count(), 0)));
        if (found > 0 || (found < 0 && errno != EINTR)) return true; // libpq will say what is wrong
        if (!how_.is_over()) continue;
        if (!over) over = clock::now();
        if (clock::now() - *over >= patience_when_over)
            throw interrupted_error(name_ + ": it did not answer any more");
    }
    return false;
}

/// Statements may take long, as those that make indexes. A server that works on one talks to others
/// meanwhile, and says so.
void connection::require_working(clock::time_point since) {
    const auto fail = [&](std::string_view why) {
        const std::string what = sent_.empty() ? std::string() : sent_.front();
        throw silent_error(fmt::format("{}{}{}: the server has not answered for {} s, {}", name_,
                                       what.empty() ? "" : ", ", what, seconds_since(since), why));
    };
    if (purpose_ == purpose::probe) fail("as it connected");
    bool is_left = false;
    try {
        is_left = connection(to_, how_, purpose::probe).is_idle(process_);
    } catch (const silent_error&) {
        fail("nor does it answer others");
    } catch (const retry_error&) { // it does answer
    }
    if (is_left) fail(fmt::format("and its process {} does not work on it", process_));
    if (clock::now() - since > 2 * how_.answers_within) return; // it was said
    spdlog::warn("{}: the server has not answered for {} s, and says that it works on it: see "
                 "process {} in pg_stat_activity",
                 name_, seconds_since(since), process_);
}

/// Within a pipeline a process is active until its end.
bool connection::is_idle(std::int64_t process) {
    const result found = ask("SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE pid = " +
                             std::to_string(process) + " AND (state LIKE 'idle%') IS NOT TRUE");
    return found.number(0, 0) == 0;
}

void connection::flush() {
    while (PQflush(own_) == 1 && wait(/*for_room=*/true)) {
    }
}

/// Of a connection that was lost the result is the reason.
pg_result* connection::next() {
    flush();
    while (PQisBusy(own_) && wait(/*for_room=*/PQflush(own_) == 1)) {
    }
    return PQgetResult(own_);
}

void connection::begin_to_ask(const std::string& sql, std::string_view what) {
    require(PQsendQueryParams(own_, sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 1), what);
    sent_.assign(1, std::string(what));
    flush();
}

result connection::ask(const std::string& sql, std::span<const parameter> parameters,
                       std::string_view what) {
    require_short(parameters, name_, what);
    const raw_parameters raw(parameters);
    require(PQsendQueryParams(own_, sql.c_str(), raw.count(), raw.types.data(), raw.values.data(),
                              raw.lengths.data(), raw.formats.data(), /*resultFormat=*/1),
            what);
    sent_.assign(1, std::string(what));
    return answer();
}

result connection::answer() {
    const std::string what = std::exchange(sent_, {}).front();
    result first(next());
    if (!first.get() || !is_success(PQresultStatus(first.get()))) fail(first.get(), what);
    if (PQresultStatus(first.get()) == PGRES_COPY_IN) return first;
    for (result rest(next()); rest.get(); rest = result(next()))
        if (!is_success(PQresultStatus(rest.get()))) fail(rest.get(), what);
    return first;
}

// --- pipelines -----------------------------------------------------------------------------------

void connection::begin_pipeline() {
    if (PQenterPipelineMode(own_) != 1) fail(nullptr, "");
    is_synced_ = false;
}

void connection::send(const std::string& sql, std::span<const parameter> parameters,
                      std::string_view what) {
    require_short(parameters, name_, what);
    const raw_parameters raw(parameters);
    const auto [found, is_new] =
        prepared_.try_emplace(sql, fmt::format("sink_{}", prepared_.size()));
    const char* const name = found->second.c_str();
    if (is_new) {
        require(PQsendPrepare(own_, name, sql.c_str(), raw.count(), raw.types.data()), what);
        sent_.emplace_back(what);
    }
    require(PQsendQueryPrepared(own_, name, raw.count(), raw.values.data(), raw.lengths.data(),
                                raw.formats.data(), /*resultFormat=*/1),
            what);
    sent_.emplace_back(what);
    flush();
    take_results();
}

void connection::send_once(const std::string& sql, std::string_view what) {
    require(PQsendQueryParams(own_, sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 1), what);
    sent_.emplace_back(what);
    flush();
    take_results();
}

/// Those that are there.
void connection::take_results() {
    while (!sent_.empty() && !PQisBusy(own_))
        note(PQgetResult(own_));
}

void connection::note(pg_result* one) {
    const result own(one);
    if (!one) { // those of a statement are over
        if (PQstatus(own_) == CONNECTION_BAD) fail(nullptr, sent_.front());
        sent_.pop_front();
    } else if (PQresultStatus(one) == PGRES_PIPELINE_SYNC) {
        is_synced_ = true;
    } else if (!is_success(PQresultStatus(one))) {
        fail(one, sent_.front());
    }
}

void connection::end_pipeline() {
    require(PQpipelineSync(own_), "");
    sent_.emplace_back("");
    while (!is_synced_)
        note(next());
    sent_.clear();
    if (PQexitPipelineMode(own_) != 1) fail(nullptr, "");
}

// --- COPY ----------------------------------------------------------------------------------------

void connection::begin_copy(const std::string& sql, std::string_view what) {
    require(PQsendQueryParams(own_, sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 1), what);
    sent_.assign(1, std::string(what));
    copied_to_ = what;
    answer();
}

void connection::copy(archive::bytes_view part) {
    constexpr std::size_t most = std::size_t{1} << 20; // libpq sends a message as a whole
    while (!part.empty()) {
        const archive::bytes_view some = part.first(std::min(most, part.size()));
        const int is_sent = PQputCopyData(own_, reinterpret_cast<const char*>(some.data()),
                                          static_cast<int>(some.size()));
        if (is_sent < 0) fail(nullptr, copied_to_);
        if (is_sent == 1) part = part.subspan(some.size());
        flush();
    }
}

void connection::end_copy() {
    int is_sent = 0;
    while ((is_sent = PQputCopyEnd(own_, nullptr)) == 0)
        flush();
    if (is_sent < 0) fail(nullptr, copied_to_);
    sent_.assign(1, copied_to_);
    answer();
}

} // namespace chainbase::sink::postgres
