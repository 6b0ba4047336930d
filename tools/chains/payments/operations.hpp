#pragma once

#include <chainbase/fixed_string.hpp>
#include <tools/block_log/bytes.hpp>

#include <boost/describe/class.hpp>

#include <cstdint>
#include <string_view>
#include <variant>

/// The operations of the payments chain. Amounts are integers in the smallest unit.
namespace chainbase::payments {

/// The chain's name in block logs.
inline constexpr std::string_view chain_name = "payments";

using account_name = fixed_string<16>;

/// A new account with money from outside of the chain. Its name must be unused.
struct account_create {
    account_name name;
    std::int64_t balance = 0;

    friend bool operator==(const account_create&, const account_create&) = default;
};
BOOST_DESCRIBE_STRUCT(account_create, (), (name, balance))

/// Money from one account to another, both by name.
struct payment {
    account_name from;
    account_name to;
    std::int64_t amount = 0;

    friend bool operator==(const payment&, const payment&) = default;
};
BOOST_DESCRIBE_STRUCT(payment, (), (from, to, amount))

/// Add new kinds at the end: a log stores the index.
using operation = std::variant<account_create, payment>;

/// As bytes for the block log; equal operations give equal bytes.
[[nodiscard]] bytes encode(const operation& value);

/// The inverse of encode; throws damaged_error with the byte offset when it is anything else.
[[nodiscard]] operation decode_operation(byte_view encoded);

} // namespace chainbase::payments
