#pragma once

#include <chainbase/database.hpp>

struct by_name;
struct by_balance;

struct account { // a plain struct: `id` first, no pointers, every member described
    chainbase::id<account> id;
    chainbase::fixed_string<16> name;
    std::int64_t balance = 0;

    using keys =
        chainbase::keys<chainbase::hashed_unique<by_name, &account::name>,
                        chainbase::btree_unique<
                            by_balance, chainbase::descending<&account::balance>, &account::id>>;
};
BOOST_DESCRIBE_STRUCT(account, (), (id, name, balance))
