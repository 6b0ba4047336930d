#pragma once

#include <archive/archived_by.hpp>
#include <chainbase/id.hpp>
#include <chainbase/keys.hpp>
#include <tools/chains/social/operations.hpp>

#include <boost/describe/class.hpp>

#include <cstdint>

/// The state of the social chain. Amounts are integers in milli-HBD, times are Unix seconds.
namespace chainbase::social {

struct by_name;

struct account_object {
    chainbase::id<account_object> id;
    account_name name;
    std::int64_t created = 0;
    std::int64_t balance = 0;        ///< what the account can spend
    std::int64_t unclaimed = 0;      ///< of its rewards, what it cannot spend yet
    std::int64_t author_rewards = 0; ///< in all
    std::int64_t curation_rewards = 0;
    std::uint32_t posts = 0;
    std::uint32_t replies = 0;
    std::uint32_t votes = 0;
    std::uint32_t custom_operations = 0;

    using keys = chainbase::keys<hashed_unique<by_name, &account_object::name>>;
};
BOOST_DESCRIBE_STRUCT(account_object, (),
                      (id, name, created, balance, unclaimed, author_rewards, curation_rewards,
                       posts, replies, votes, custom_operations))

struct by_permlink;
struct by_cashout_time;

/// A post or a reply. Paid once, at its cash-out time; then it is finished and moves to the
/// archive.
struct comment_object {
    chainbase::id<comment_object> id;
    account_name author;
    shared_string permlink;
    chainbase::id<comment_object> parent = none; ///< none: a post, or the parent is not known
    account_name parent_author;                  ///< empty: a post
    shared_string parent_permlink;               ///< of a post: its category
    std::int64_t created = 0;
    std::int64_t cashout_time = 0;  ///< 0: paid, or never to be
    std::int64_t last_payout = 0;   ///< the cash-out time at which it was paid; 0: not paid
    std::int64_t author_payout = 0; ///< due for payment, or paid
    std::int64_t curator_payout = 0;
    std::int64_t net_rshares = 0; ///< sum of its votes
    std::uint32_t votes = 0;
    std::uint32_t children = 0; ///< replies that came before it was paid
    std::uint32_t title_bytes = 0;
    std::uint32_t body_bytes = 0;

    static constexpr chainbase::id<comment_object> none{UINT32_MAX};

    using keys = chainbase::keys<
        hashed_unique<by_permlink, &comment_object::author, &comment_object::permlink>,
        btree_unique<by_cashout_time, &comment_object::cashout_time, &comment_object::id>>;
    using archived_by = archive::tags<by_permlink>;
};
BOOST_DESCRIBE_STRUCT(comment_object, (),
                      (id, author, permlink, parent, parent_author, parent_permlink, created,
                       cashout_time, last_payout, author_payout, curator_payout, net_rshares, votes,
                       children, title_bytes, body_bytes))

struct by_comment_voter;

/// A vote on an unpaid comment; removed when the comment is paid.
struct vote_object {
    chainbase::id<vote_object> id;
    chainbase::id<comment_object> comment;
    chainbase::id<account_object> voter;
    std::int16_t percent = 0;
    std::int64_t rshares = 0;
    std::int64_t time = 0;

    using keys =
        chainbase::keys<btree_unique<by_comment_voter, &vote_object::comment, &vote_object::voter>>;
};
BOOST_DESCRIBE_STRUCT(vote_object, (), (id, comment, voter, percent, rshares, time))

/// One object: the chain's head and totals.
struct global_object {
    chainbase::id<global_object> id;
    std::uint64_t head_number = 0;
    std::int64_t head_time = 0;
    std::uint64_t accounts = 0;
    std::uint64_t comments = 0;
    std::uint64_t votes = 0;
    std::uint64_t custom_operations = 0;
    std::uint64_t transfers = 0;
    std::uint64_t claims = 0;
    std::uint64_t deleted_comments = 0;
    std::int64_t deposited = 0;
    std::int64_t paid_posts = 0;
    std::int64_t author_paid = 0;  ///< the declared author shares
    std::int64_t curator_paid = 0; ///< the assigned voter shares
    /// the part of curator_paid left to authors by rounding
    std::int64_t curator_remainder_to_author = 0;
    std::int64_t unassigned = 0; ///< voter shares without a positive vote
    std::int64_t votes_on_paid = 0;

    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(global_object, (),
                      (id, head_number, head_time, accounts, comments, votes, custom_operations,
                       transfers, claims, deleted_comments, deposited, paid_posts, author_paid,
                       curator_paid, curator_remainder_to_author, unassigned, votes_on_paid))

} // namespace chainbase::social
