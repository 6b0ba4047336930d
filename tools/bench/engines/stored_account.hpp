#pragma once

#include <chainbase/database.hpp>
#include <tools/bench/account.hpp>

#include <boost/describe.hpp>

#include <cstdint>

namespace chainbase::bench {

struct named;
struct richest;

/// The fields of bench::account as an object of chainbase: a 32-bit id and a spare word stand where
/// its 64-bit id does. `Keys<T>::all` is what finds a T.
template <template <typename> typename Keys>
struct stored_account {
    chainbase::id<stored_account> id;
    std::uint32_t spare = 0;
    account_name name;
    std::int64_t balance = 0;
    std::int64_t savings = 0;
    std::int64_t vesting = 0;
    std::int64_t debt = 0;
    std::uint32_t created = 0;
    std::uint32_t voted = 0;
    std::uint32_t posts = 0;
    std::uint32_t flags = 0;

    using keys = typename Keys<stored_account>::all;
    BOOST_DESCRIBE_CLASS(stored_account, (),
                         (id, spare, name, balance, savings, vesting, debt, created, voted, posts,
                          flags),
                         (), ())
};

template <typename T>
struct ordered_by_name_and_balance {
    using all = keys<ordered_unique<named, &T::name>,
                     ordered_unique<richest, descending<&T::balance>, &T::id>>;
};
template <typename T>
struct hashed_by_name {
    using all = keys<hashed_unique<named, &T::name>>;
};

using ordered_account = stored_account<ordered_by_name_and_balance>;
using hashed_account = stored_account<hashed_by_name>;
static_assert(sizeof(ordered_account) == sizeof(account));
static_assert(sizeof(hashed_account) == sizeof(account));

} // namespace chainbase::bench
