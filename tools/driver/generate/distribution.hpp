#pragma once

#include <boost/describe/class.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace chainbase::generate {

/// What a distribution of whole numbers comes to, itself in whole numbers: the same everywhere.
struct summary {
    std::uint64_t count = 0;
    std::int64_t mean_milli = 0; ///< the mean in thousandths
    std::int64_t p50 = 0;
    std::int64_t p90 = 0;
    std::int64_t p99 = 0;
    std::int64_t most = 0;
    std::uint32_t zero_permille = 0;
    std::uint32_t top1_permille = 0; ///< of the sum, what the largest hundredth has
    std::uint32_t gini_permille = 0; ///< 0: all the same; 0 also where a value is negative

    friend bool operator==(const summary&, const summary&) = default;
};
BOOST_DESCRIBE_STRUCT(summary, (),
                      (count, mean_milli, p50, p90, p99, most, zero_permille, top1_permille,
                       gini_permille))

/// The value below which `part` of `of` equal parts of the sorted values lie, the last at most.
/// Requires a value.
[[nodiscard]] inline std::int64_t quantile_of(std::span<const std::int64_t> sorted,
                                              std::uint64_t part, std::uint64_t of) noexcept {
    return sorted[static_cast<std::size_t>((sorted.size() - 1) * part / of)];
}

/// Of sorted values; all zero without one.
[[nodiscard]] summary summary_of(std::span<const std::int64_t> sorted) noexcept;

/// What is measured of a social chain and, but for reply_descendants, drawn for another. Those of
/// posts and of replies stand in the same order, so that reply = post + distributions_of_a_kind.
enum class distribution : std::uint8_t {
    post_title_bytes,
    post_body_bytes,
    post_permlink_bytes,
    post_cash_out_seconds, ///< from its creation, of those that are to be paid
    post_author_payout,    ///< milli-HBD, of those that are to be paid
    post_curator_payout,   ///< the same
    post_votes,
    post_descendants, ///< replies to it, replies to these, and so on
    reply_title_bytes,
    reply_body_bytes,
    reply_permlink_bytes,
    reply_cash_out_seconds,
    reply_author_payout,
    reply_curator_payout,
    reply_votes,
    reply_descendants, ///< follow from the depths
    reply_depth,       ///< 1 of a reply to a post; of those whose post is known
    vote_percent,      ///< hundredths of a percent
    vote_rshares,
    comments_of_author, ///< posts and replies, of those who have any
    votes_of_voter,     ///< of those who cast any
};

inline constexpr std::size_t distributions_of_a_kind = 8;
inline constexpr std::size_t distribution_count = 21;

/// One of posts, or the same of replies.
[[nodiscard]] constexpr distribution of_kind(distribution of_posts, bool is_reply) noexcept {
    return static_cast<distribution>(static_cast<std::size_t>(of_posts) +
                                     (is_reply ? distributions_of_a_kind : 0));
}

/// The name in a report.
[[nodiscard]] std::string_view name_of(distribution which) noexcept;
/// The name in files and JSON.
[[nodiscard]] std::string_view identifier_of(distribution which) noexcept;

/// Quantiles by which a distribution is drawn: 64 equal parts of the values, each a line between
/// two points, of which the first and the last are again 64 parts each, because the tails hold most
/// of what matters.
using quantile_points = std::array<std::int64_t, 191>;

/// Of sorted values; requires one.
[[nodiscard]] quantile_points points_of(std::span<const std::int64_t> sorted) noexcept;

/// The value at `place`, where 2^64 is the end of the distribution. A part that begins at 0 is 0
/// all over, so that the share of nothing stays what it is.
[[nodiscard]] std::int64_t value_at(const quantile_points& points, std::uint64_t place) noexcept;

/// A distribution as it was measured.
struct fitted_distribution {
    summary real;
    quantile_points points;
};

struct chain_shares {
    std::uint32_t reply_permille = 0;      ///< of the comments
    std::uint32_t paid_post_permille = 0;  ///< of the posts
    std::uint32_t paid_reply_permille = 0; ///< of the replies
    std::uint32_t author_per_100_000 = 0;  ///< of the accounts, those with a comment
    std::uint32_t voter_per_100_000 = 0;   ///< of the accounts, those with a vote
};
BOOST_DESCRIBE_STRUCT(chain_shares, (),
                      (reply_permille, paid_post_permille, paid_reply_permille, author_per_100_000,
                       voter_per_100_000))

/// What was measured of a chain: everything the generator takes from real data.
struct fitted_chain : chain_shares {
    std::array<fitted_distribution, distribution_count> distributions{};

    [[nodiscard]] const fitted_distribution& of(distribution which) const noexcept {
        return distributions[static_cast<std::size_t>(which)];
    }
    /// A line for each share and distribution, as steem_2016.fit has them.
    [[nodiscard]] std::string to_text() const;
};

/// What steem_2016.fit says of the Steem chain. Any thread.
[[nodiscard]] const fitted_chain& steem_2016_fit();

} // namespace chainbase::generate
