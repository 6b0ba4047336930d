#pragma once

#include <chainbase/fixed_string.hpp>
#include <tools/block_log/bytes.hpp>

#include <boost/describe/class.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

/// The operations of the social chain. Amounts are integers in milli-HBD (0.001 HBD), times are
/// Unix seconds.
namespace chainbase::social {

/// The chain's names in block logs: real data, and generated data.
inline constexpr std::string_view chain_name = "steem-2016";
inline constexpr std::string_view generated_chain_name = "social";

using account_name = fixed_string<16>;

inline constexpr std::size_t longest_permlink = 256; ///< bytes
inline constexpr std::size_t longest_custom_id = 32; ///< bytes
inline constexpr std::size_t longest_memo = 2048;    ///< bytes
inline constexpr std::int16_t full_percent = 10'000; ///< in hundredths of a percent

/// A new account. Its name must be unused.
struct account_create {
    account_name name;

    friend bool operator==(const account_create&, const account_create&) = default;
};
BOOST_DESCRIBE_STRUCT(account_create, (), (name))

/// A new post (no parent author) or reply. The parent may be unknown: the data is a selection.
struct comment {
    account_name author;
    std::string permlink; // at most longest_permlink, unique per author
    account_name parent_author;
    std::string parent_permlink; // at most longest_permlink; of a post: its category
    std::uint32_t title_bytes = 0;
    std::uint32_t body_bytes = 0;
    /// When it is paid; 0: the data has no payout.
    std::int64_t cashout_time = 0;
    /// What is paid then: author share and voter share. 0 without a cash-out time.
    std::int64_t author_payout = 0;
    std::int64_t curator_payout = 0;
    /// As the data states them at its end, for reference: a model need not arrive at them.
    std::int64_t net_rshares = 0;
    std::uint32_t children = 0;

    friend bool operator==(const comment&, const comment&) = default;
};
BOOST_DESCRIBE_STRUCT(comment, (),
                      (author, permlink, parent_author, parent_permlink, title_bytes, body_bytes,
                       cashout_time, author_payout, curator_payout, net_rshares, children))

/// The one vote of `voter` on an existing comment that is not paid yet.
struct vote {
    account_name voter;
    account_name author;
    std::string permlink;
    /// Hundredths of a percent, -full_percent to full_percent; 0: unknown.
    std::int16_t percent = 0;
    /// Weight; negative: against.
    std::int64_t rshares = 0;

    friend bool operator==(const vote&, const vote&) = default;
};
BOOST_DESCRIBE_STRUCT(vote, (), (voter, author, permlink, percent, rshares))

/// Opaque content for other programs.
struct custom {
    account_name account;
    std::string id; // at most longest_custom_id: what the payload is
    bytes payload;

    friend bool operator==(const custom&, const custom&) = default;
};
BOOST_DESCRIBE_STRUCT(custom, (), (account, id, payload))

/// Money from outside of the chain.
struct deposit {
    account_name to;
    std::int64_t amount = 0;

    friend bool operator==(const deposit&, const deposit&) = default;
};
BOOST_DESCRIBE_STRUCT(deposit, (), (to, amount))

/// Money from one account to another.
struct transfer {
    account_name from;
    account_name to;
    std::int64_t amount = 0;
    std::string memo; // at most longest_memo; carried only

    friend bool operator==(const transfer&, const transfer&) = default;
};
BOOST_DESCRIBE_STRUCT(transfer, (), (from, to, amount, memo))

/// Turns rewards into money that the account can spend.
struct claim {
    account_name account;

    friend bool operator==(const claim&, const claim&) = default;
};
BOOST_DESCRIBE_STRUCT(claim, (), (account))

/// Deletes a comment; its permlink can be used again.
struct comment_delete {
    account_name author;
    std::string permlink; // at most longest_permlink

    friend bool operator==(const comment_delete&, const comment_delete&) = default;
};
BOOST_DESCRIBE_STRUCT(comment_delete, (), (author, permlink))

/// Add new kinds at the end: a log stores the index.
using operation =
    std::variant<account_create, comment, vote, custom, deposit, transfer, claim, comment_delete>;

/// As bytes for the block log; equal operations give equal bytes.
[[nodiscard]] bytes encode(const operation& value);

/// The inverse of encode; throws damaged_error with the byte offset for any other bytes. The model,
/// not the codec, checks the length limits above.
[[nodiscard]] operation decode_operation(byte_view encoded);

} // namespace chainbase::social
