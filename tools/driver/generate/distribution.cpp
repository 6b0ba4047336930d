#include <tools/chains/checked.hpp>
#include <tools/driver/generate/distribution.hpp>

#include <utility>

namespace chainbase::generate {
namespace {

using two_names = std::pair<std::string_view, std::string_view>;

constexpr std::array<two_names, distribution_count> all_names{{
    {"posts: bytes of the title", "post_title_bytes"},
    {"posts: bytes of the body", "post_body_bytes"},
    {"posts: bytes of the permlink", "post_permlink_bytes"},
    {"posts: seconds to the cash-out", "post_cash_out_seconds"},
    {"posts: authors' part, milli-HBD", "post_author_payout"},
    {"posts: voters' part, milli-HBD", "post_curator_payout"},
    {"posts: votes", "post_votes"},
    {"posts: replies, to replies too", "post_descendants"},
    {"replies: bytes of the title", "reply_title_bytes"},
    {"replies: bytes of the body", "reply_body_bytes"},
    {"replies: bytes of the permlink", "reply_permlink_bytes"},
    {"replies: seconds to the cash-out", "reply_cash_out_seconds"},
    {"replies: authors' part, milli-HBD", "reply_author_payout"},
    {"replies: voters' part, milli-HBD", "reply_curator_payout"},
    {"replies: votes", "reply_votes"},
    {"replies: replies, to replies too", "reply_descendants"},
    {"replies: depth", "reply_depth"},
    {"votes: hundredths of a percent", "vote_percent"},
    {"votes: rshares", "vote_rshares"},
    {"authors: comments", "comments_of_author"},
    {"voters: votes", "votes_of_voter"},
}};

constexpr std::size_t parts = 64;
constexpr std::size_t last = parts - 1;
/// Where the points of the parts between the tails begin, less the first part's number.
constexpr std::size_t between = parts - 1;

} // namespace

std::string_view name_of(distribution which) noexcept {
    return all_names[static_cast<std::size_t>(which)].first;
}

std::string_view identifier_of(distribution which) noexcept {
    return all_names[static_cast<std::size_t>(which)].second;
}

quantile_points points_of(std::span<const std::int64_t> sorted) noexcept {
    quantile_points result{};
    for (std::size_t i = 0; i <= parts; ++i)
        result[i] = quantile_of(sorted, i, parts * parts);
    for (std::size_t part = 2; part <= last; ++part)
        result[between + part] = quantile_of(sorted, part, parts);
    for (std::size_t i = 1; i <= parts; ++i)
        result[between + last + i] = quantile_of(sorted, last * parts + i, parts * parts);
    return result;
}

std::int64_t value_at(const quantile_points& points, std::uint64_t place) noexcept {
    const std::size_t part = place >> 58;
    std::size_t at = part == 0 ? 0 : between + part;
    std::uint64_t within = place << 6;
    if (part == 0 || part == last) {
        at += within >> 58;
        within <<= 6;
    }
    const std::int64_t low = points[at];
    if (low == 0) return 0;
    const int128 width = static_cast<int128>(points[at + 1]) - low;
    return low + static_cast<std::int64_t>(width * static_cast<int128>(within >> 32) >> 32);
}

} // namespace chainbase::generate
