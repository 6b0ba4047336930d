#pragma once

#include <tools/bench/account.hpp>

#include <boost/multi_index/composite_key.hpp>
#include <boost/multi_index/hashed_index.hpp>
#include <boost/multi_index/member.hpp>
#include <boost/multi_index/ordered_index.hpp>
#include <boost/multi_index_container.hpp>

#include <cstdint>
#include <functional>

/// The account in plain Boost.MultiIndex containers, for every allocator.
namespace chainbase::bench {

struct by_id;
struct by_name;
struct by_balance;

using account_id_key = boost::multi_index::member<account, std::uint64_t, &account::id>;
using account_name_key = boost::multi_index::member<account, account_name, &account::name>;
using account_balance_key = boost::multi_index::composite_key<
    account, boost::multi_index::member<account, std::int64_t, &account::balance>, account_id_key>;
using account_balance_order =
    boost::multi_index::composite_key_compare<std::greater<std::int64_t>, std::less<std::uint64_t>>;

template <typename Allocator>
using ordered_accounts = boost::multi_index_container<
    account,
    boost::multi_index::indexed_by<
        boost::multi_index::ordered_unique<boost::multi_index::tag<by_id>, account_id_key>,
        boost::multi_index::ordered_unique<boost::multi_index::tag<by_name>, account_name_key>,
        boost::multi_index::ordered_unique<boost::multi_index::tag<by_balance>, account_balance_key,
                                           account_balance_order>>,
    Allocator>;

template <typename Allocator>
using hashed_accounts = boost::multi_index_container<
    account,
    boost::multi_index::indexed_by<
        boost::multi_index::ordered_unique<boost::multi_index::tag<by_id>, account_id_key>,
        boost::multi_index::hashed_unique<boost::multi_index::tag<by_name>, account_name_key,
                                          account_name_hash>>,
    Allocator>;

} // namespace chainbase::bench
