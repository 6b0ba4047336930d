#pragma once

#include <chainbase/id.hpp>
#include <chainbase/keys.hpp>
#include <tools/chains/payments/operations.hpp>

#include <boost/describe/class.hpp>

#include <cstdint>

/// The state of the payments chain.
namespace chainbase::payments {

struct by_name;

struct account_object {
    chainbase::id<account_object> id;
    account_name name;
    std::int64_t balance = 0;
    std::uint32_t sent = 0;     ///< payments, modulo 2^32: the object stays small
    std::uint32_t received = 0; ///< the same

    using keys = chainbase::keys<hashed_unique<by_name, &account_object::name>>;
};
BOOST_DESCRIBE_STRUCT(account_object, (), (id, name, balance, sent, received))

/// One object: the chain's head and totals.
struct global_object {
    chainbase::id<global_object> id;
    std::uint64_t head_number = 0;
    std::int64_t head_time = 0;
    std::uint64_t payments = 0;
    std::int64_t issued = 0; ///< initial money of all accounts

    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(global_object, (), (id, head_number, head_time, payments, issued))

} // namespace chainbase::payments
