#pragma once

#include <chainbase/object.hpp>

#include <cstdint>

namespace chainbase::test {

/// @name Object types that together have every kind of key
/// @{
struct by_name;
struct by_balance;
struct by_group;
struct by_number;
struct by_distance;

/// Ordered keys, unique and not, composite, descending and computed, beside a hashed one; no
/// strings.
struct account {
    chainbase::id<account> id;
    fixed_string<16> name;
    std::int64_t balance = 0;
    std::uint64_t number = 0;
    std::uint32_t group = 0;
    std::uint32_t visits = 0;

    /// How far the balance is from nothing.
    [[nodiscard]] std::int64_t distance() const { return balance < 0 ? -balance : balance; }

    using keys = chainbase::keys<
        ordered_unique<by_name, &account::name>,
        ordered_unique<by_balance, descending<&account::balance>, &account::id>,
        ordered_non_unique<by_group, &account::group>, hashed_unique<by_number, &account::number>,
        ordered_non_unique<by_distance, descending<&account::distance>, &account::group>>;
};
BOOST_DESCRIBE_STRUCT(account, (), (id, name, balance, number, group, visits))

struct by_link;
struct by_address;
struct by_author;
struct by_body;

/// Strings as keys, ordered and hashed, and as values; a vector.
struct post {
    chainbase::id<post> id;
    std::uint32_t likes = 0;
    shared_string author;
    shared_string permlink;
    shared_string body;
    shared_vector<std::uint32_t> votes;

    using keys = chainbase::keys<ordered_unique<by_link, &post::author, &post::permlink>,
                                 hashed_unique<by_address, &post::permlink, &post::author>,
                                 hashed_non_unique<by_author, &post::author>,
                                 ordered_non_unique<by_body, &post::body>>;
};
BOOST_DESCRIBE_STRUCT(post, (), (id, likes, author, permlink, body, votes))

struct by_score;
struct by_weight;
struct by_owner;

/// Ranked keys, unique and not.
struct stake {
    chainbase::id<stake> id;
    std::uint32_t owner = 0;
    std::int64_t score = 0;
    std::uint32_t weight = 0;
    std::uint32_t age = 0;

    using keys = chainbase::keys<ranked_unique<by_score, descending<&stake::score>, &stake::owner>,
                                 ranked_non_unique<by_weight, &stake::weight>,
                                 hashed_non_unique<by_owner, &stake::owner>>;
};
BOOST_DESCRIBE_STRUCT(stake, (), (id, owner, score, weight, age))

/// Found by id only.
struct marker {
    chainbase::id<marker> id;
    std::uint32_t low = 0;
    std::uint64_t high = 0;

    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(marker, (), (id, low, high))

struct by_code;
struct by_kind;

/// Hashed keys only, one of them not unique.
struct token {
    chainbase::id<token> id;
    std::uint32_t code = 0;
    std::uint32_t kind = 0;
    std::uint32_t amount = 0;

    using keys = chainbase::keys<hashed_unique<by_code, &token::code>,
                                 hashed_non_unique<by_kind, &token::kind>>;
};
BOOST_DESCRIBE_STRUCT(token, (), (id, code, kind, amount))

struct by_text;

/// One hashed key, a string.
struct label {
    chainbase::id<label> id;
    std::uint32_t uses = 0;
    shared_string text;

    using keys = chainbase::keys<hashed_unique<by_text, &label::text>>;
};
BOOST_DESCRIBE_STRUCT(label, (), (id, uses, text))

struct by_symbol;
struct by_holder;
struct by_amount;
struct by_holding;

/// Btree keys, unique and not, of one word and of several, beside an ordered and a hashed one.
struct holding {
    chainbase::id<holding> id;
    fixed_string<16> symbol;
    std::int64_t amount = 0;
    std::uint32_t holder = 0;
    std::uint32_t age = 0;

    using keys =
        chainbase::keys<btree_unique<by_symbol, &holding::symbol>,
                        btree_non_unique<by_holder, &holding::holder>,
                        btree_unique<by_amount, descending<&holding::amount>, &holding::id>,
                        ordered_unique<by_holding, &holding::symbol, &holding::holder>,
                        hashed_non_unique<by_owner, &holding::holder>>;
};
BOOST_DESCRIBE_STRUCT(holding, (), (id, symbol, amount, holder, age))
/// @}

} // namespace chainbase::test
