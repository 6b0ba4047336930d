#include <tools/sink/database.hpp>
#include <tools/sink/postgres/errors.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace chainbase::sink::postgres {

namespace {

enum class meaning { retry, access, usage, fenced, taken, limit, other };

/// What a state, or a class of states (the first two characters), means; what to do then. The first
/// that fits.
struct rule {
    std::string_view begins;
    meaning what;
    std::string_view advice;
};

constexpr std::string_view is_other_table =
    "the table is not as the sink made it: undo the change (chainbase-sink ddl prints the table), "
    "or drop it and begin anew with --bootstrap again";
constexpr std::string_view is_missing =
    "the sink's tables are not there: begin anew with chainbase-sink follow --bootstrap again";
constexpr std::string_view is_no_session =
    "connect to the server itself, or let the pooler keep sessions (pool_mode=session)";

constexpr std::array rules{
    rule{"25006", meaning::access,
         "the database is read-only, or a standby: name the primary, or let it write again"},
    rule{"25P03", meaning::retry, ""},
    rule{"57P", meaning::retry, ""},
    rule{"57014", meaning::retry, "somebody cancelled it"},
    rule{"53100", meaning::retry, "make room on the server's disk"},
    rule{"53300", meaning::retry, "raise max_connections of the server, or end other programs"},
    rule{"55P03", meaning::retry, "another session holds the lock: see pg_locks"},
    rule{"08", meaning::retry, ""},
    rule{"40", meaning::retry, ""},
    rule{"53", meaning::retry, ""},
    rule{"58", meaning::retry, "see the server's log"},
    rule{"28", meaning::access, "check user and password, and the server's pg_hba.conf"},
    rule{"42501", meaning::access, "let the tables' owner run the sink, or grant its rights"},
    rule{"CB001", meaning::fenced, "stop one of the two sinks"},
    rule{"3D", meaning::usage, "create the database, or name another one"},
    rule{"26", meaning::usage, is_no_session},
    rule{"42P05", meaning::usage, is_no_session},
    rule{"42P01", meaning::usage, is_missing},
    rule{"3F", meaning::usage, is_missing},
    rule{"42883", meaning::usage, is_missing},
    rule{"23505", meaning::taken, is_other_table},
    rule{"22", meaning::usage, is_other_table},
    rule{"23", meaning::usage, is_other_table},
    rule{"42", meaning::usage, is_other_table},
    rule{"54", meaning::limit, "a value is longer than PostgreSQL can hold or index"},
    rule{"", meaning::other, "see the server's log"},
};

[[noreturn]] void throw_it(meaning what, const std::string& message) {
    switch (what) {
    case meaning::retry:
        throw retry_error(message);
    case meaning::access:
        throw access_error(message);
    case meaning::usage:
        throw usage_error(message);
    case meaning::fenced:
        throw fenced_error(message);
    case meaning::taken:
        throw taken_error(message);
    case meaning::limit:
        throw limit_error(message);
    case meaning::other:
        break;
    }
    throw io_error(message);
}

/// In one line, without the places in the server's sources.
std::string in_one_line(std::string_view words) {
    std::string text;
    while (!words.empty()) {
        const std::size_t end = std::min(words.find('\n'), words.size());
        std::string_view line = words.substr(0, end);
        words.remove_prefix(std::min(end + 1, words.size()));
        while (!line.empty() && (line.front() == ' ' || line.front() == '\t'))
            line.remove_prefix(1);
        if (line.empty() || line.starts_with("LOCATION:")) continue;
        text += (text.empty() ? "" : "; ") + std::string(line);
    }
    return text;
}

bool is_state(std::string_view text) {
    return text.size() == 5 && std::ranges::all_of(text, [](unsigned char c) {
               return std::isdigit(c) || (c >= 'A' && c <= 'Z');
           });
}

/// Of the last host that was tried: "FATAL:  28P01: password authentication failed".
std::string_view state_in(std::string_view words) {
    constexpr std::string_view before = ":  ";
    for (std::size_t at = words.rfind(before); at != std::string_view::npos && at != 0;
         at = words.rfind(before, at - 1)) {
        const std::string_view rest = words.substr(at + before.size());
        if (rest.size() > 6 && rest.substr(5, 2) == ": " && is_state(rest.substr(0, 5)))
            return rest.substr(0, 5);
    }
    return {};
}

} // namespace

void throw_error(const std::string& database, std::string_view what, std::string_view sqlstate,
                 std::string_view words) {
    const std::string place = what.empty() ? database : fmt::format("{}, {}", database, what);
    if (sqlstate.empty())
        throw retry_error(
            fmt::format("{}: the connection was lost: {}", place, in_one_line(words)));
    const rule& found = *std::ranges::find_if(
        rules, [&](const rule& one) { return sqlstate.starts_with(one.begins); });
    const std::string advice = found.advice.empty() ? "" : fmt::format("; {}", found.advice);
    throw_it(found.what,
             fmt::format("{}: {} (SQLSTATE {}){}", place, in_one_line(words), sqlstate, advice));
}

void throw_not_connected(const std::string& database, std::string_view words, bool needs_password) {
    if (needs_password)
        throw access_error(fmt::format("{}: the server wants a password: put it into ~/.pgpass, or "
                                       "PGPASSWORD",
                                       database));
    if (const std::string_view state = state_in(words); !state.empty())
        throw_error(database, "connecting", state, words);
    throw retry_error(fmt::format("{}: not connected: {}", database, in_one_line(words)));
}

} // namespace chainbase::sink::postgres
