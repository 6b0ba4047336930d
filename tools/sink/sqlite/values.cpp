#include <archive/record/integers.hpp>
#include <tools/sink/sqlite/connection.hpp>

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

// The values of rows in SQLite: README.md, "Tables".
namespace chainbase::sink::sqlite {

namespace {

constexpr unsigned __int128 most = INT64_MAX;

/// How many digits an integer beyond 63 bits has as text, so that texts order as numbers do.
std::size_t digits_in(const column& of) {
    return of.is_wide ? 39 : 20;
}

bool fits(const value& of) {
    return of.magnitude <= (of.is_negative ? most + 1 : most);
}

/// The value of such a text; false when it is none.
bool parse(std::string_view text, const column& in, value& to) {
    value found;
    found.what = value::kind::integer;
    found.is_negative = text.starts_with('-');
    if (found.is_negative) text.remove_prefix(1);
    if (text.size() != digits_in(in)) return false;
    constexpr auto all = ~static_cast<unsigned __int128>(0);
    for (const char c : text) {
        if (c < '0' || c > '9') return false;
        const auto digit = static_cast<unsigned>(c - '0');
        if (found.magnitude > (all - digit) / 10) return false;
        found.magnitude = found.magnitude * 10 + digit;
    }
    if (fits(found)) return false;
    to.what = found.what;
    to.is_negative = found.is_negative;
    to.magnitude = found.magnitude;
    return true;
}

void set_integer(value& to, const column& in, std::int64_t number) {
    to.what = in.kind == column_kind::boolean ? value::kind::boolean : value::kind::integer;
    to.is_negative = number < 0;
    const auto bits = static_cast<std::uint64_t>(number);
    to.magnitude = number < 0 ? 0 - bits : bits;
}

bool is_real(const column& in) {
    return in.kind == column_kind::real32 || in.kind == column_kind::real64;
}

} // namespace

void statement::bind_integer(int at, const column& in, const value& what) {
    if (fits(what)) return bind(at, what.as_int64());
    const std::string digits =
        fmt::format("{}{:0>{}}", what.is_negative ? "-" : "",
                    what.digits().substr(what.is_negative ? 1 : 0), digits_in(in));
    require(sqlite3_bind_text64(made_.get(), at + 1, digits.data(), digits.size(), SQLITE_TRANSIENT,
                                SQLITE_UTF8));
}

void statement::bind(int at, const column& in, const value& what) {
    switch (what.what) {
    case value::kind::boolean:
        return bind(at, what.as_int64());
    case value::kind::integer:
        return bind_integer(at, in, what);
    case value::kind::real:
        if (!std::isnan(what.real))
            return require(sqlite3_bind_double(made_.get(), at + 1, what.real));
        std::byte bytes[sizeof(double)];
        archive::detail::store_big(bytes, std::bit_cast<std::uint64_t>(what.real));
        return require(
            sqlite3_bind_blob(made_.get(), at + 1, bytes, sizeof bytes, SQLITE_TRANSIENT));
    case value::kind::text:
        return bind(at, what.text);
    case value::kind::bytes:
        return bind_blob(at, what.bytes);
    default:
        bind_null(at);
    }
}

void statement::read(int at, const column& in, value& to) const {
    switch (sqlite3_column_type(made_.get(), at)) {
    case SQLITE_INTEGER:
        return set_integer(to, in, number(at));
    case SQLITE_FLOAT:
        to.what = value::kind::real;
        to.real = sqlite3_column_double(made_.get(), at);
        return;
    case SQLITE_TEXT:
        to.text = text(at);
        if (in.kind != column_kind::numeric || !parse(to.text, in, to)) to.what = value::kind::text;
        return;
    case SQLITE_BLOB: {
        const auto* from = static_cast<const std::byte*>(sqlite3_column_blob(made_.get(), at));
        const auto size = static_cast<std::size_t>(sqlite3_column_bytes(made_.get(), at));
        to.what = value::kind::bytes;
        to.bytes = {from, size};
        if (!is_real(in) || size != sizeof(double)) return;
        to.real = std::bit_cast<double>(archive::detail::load_big<std::uint64_t>(from));
        if (std::isnan(to.real)) to.what = value::kind::real;
        return;
    }
    default:
        to.what = value::kind::null;
    }
}

} // namespace chainbase::sink::sqlite
