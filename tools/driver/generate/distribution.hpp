#pragma once

#include <boost/describe/class.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace chainbase::generate {

/// Summary of a distribution of integers, itself in integers: equal on all platforms.
struct summary {
    std::uint64_t count = 0;
    std::int64_t mean_milli = 0; ///< the mean in thousandths
    std::int64_t p50 = 0;
    std::int64_t p90 = 0;
    std::int64_t p99 = 0;
    std::int64_t most = 0;
    std::uint32_t zero_permille = 0;
    std::uint32_t top1_permille = 0; ///< share of the sum held by the largest hundredth
    std::uint32_t gini_permille = 0; ///< 0: all equal; also 0 when a value is negative

    friend bool operator==(const summary&, const summary&) = default;
};
BOOST_DESCRIBE_STRUCT(summary, (),
                      (count, mean_milli, p50, p90, p99, most, zero_permille, top1_permille,
                       gini_permille))

/// The value below which `part` of `of` equal parts of the sorted values lie, at most the last.
/// Requires a value.
[[nodiscard]] inline std::int64_t quantile_of(std::span<const std::int64_t> sorted,
                                              std::uint64_t part, std::uint64_t of) noexcept {
    return sorted[static_cast<std::size_t>((sorted.size() - 1) * part / of)];
}

/// Of sorted values; all zero without values.
[[nodiscard]] summary summary_of(std::span<const std::int64_t> sorted) noexcept;

/// Measured from a social chain and, except for reply_descendants, drawn for a generated one. Post
/// and reply distributions have the same order: reply = post + distributions_of_a_kind.
enum class distribution : std::uint8_t {
    post_title_bytes,
    post_body_bytes,
    post_permlink_bytes,
    post_cash_out_seconds, ///< since creation, of those to be paid
    post_author_payout,    ///< milli-HBD, of those to be paid
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
    reply_depth,       ///< 1: a reply to a post; only where the post is known
    vote_percent,      ///< hundredths of a percent
    vote_rshares,
    comments_of_author, ///< posts and replies, of authors with any
    votes_of_voter,     ///< of voters with any
};

inline constexpr std::size_t distributions_of_a_kind = 8;
inline constexpr std::size_t distribution_count = 21;

/// The distribution for posts, or its counterpart for replies.
[[nodiscard]] constexpr distribution of_kind(distribution of_posts, bool is_reply) noexcept {
    return static_cast<distribution>(static_cast<std::size_t>(of_posts) +
                                     (is_reply ? distributions_of_a_kind : 0));
}

/// The name in a report.
[[nodiscard]] std::string_view name_of(distribution which) noexcept;
/// The name in files and JSON.
[[nodiscard]] std::string_view identifier_of(distribution which) noexcept;

/// Quantiles from which a distribution is drawn: 64 equal parts of the values, each a line between
/// two points; the first and the last are again 64 parts each, because the tails hold most of the
/// sum.
using quantile_points = std::array<std::int64_t, 191>;

/// Of sorted values; requires a value.
[[nodiscard]] quantile_points points_of(std::span<const std::int64_t> sorted) noexcept;

/// The value at `place`, where 2^64 is the end of the distribution. A part that begins with 0 is 0
/// throughout, so that the share of zeros is kept.
[[nodiscard]] std::int64_t value_at(const quantile_points& points, std::uint64_t place) noexcept;

/// A measured distribution.
struct fitted_distribution {
    summary real;
    quantile_points points;
};

struct chain_shares {
    std::uint32_t reply_permille = 0;      ///< of the comments
    std::uint32_t paid_post_permille = 0;  ///< of the posts
    std::uint32_t paid_reply_permille = 0; ///< of the replies
    std::uint32_t author_per_100_000 = 0;  ///< share of accounts with a comment
    std::uint32_t voter_per_100_000 = 0;   ///< share of accounts with a vote
};
BOOST_DESCRIBE_STRUCT(chain_shares, (),
                      (reply_permille, paid_post_permille, paid_reply_permille, author_per_100_000,
                       voter_per_100_000))

/// All measurements of a chain: everything that the generator takes from real data.
struct fitted_chain : chain_shares {
    std::array<fitted_distribution, distribution_count> distributions{};

    [[nodiscard]] const fitted_distribution& of(distribution which) const noexcept {
        return distributions[static_cast<std::size_t>(which)];
    }
    /// A line for each share and distribution, in the format of steem_2016.fit.
    [[nodiscard]] std::string to_text() const;
};

/// The fit of the Steem chain. Any thread.
[[nodiscard]] const fitted_chain& steem_2016_fit();

} // namespace chainbase::generate
