#include <tools/chains/checked.hpp>
#include <tools/driver/generate/distribution.hpp>

#include <algorithm>
#include <utility>

namespace chainbase::generate {

namespace {

std::uint32_t permille(int128 part, int128 of) {
    return of > 0 ? static_cast<std::uint32_t>(part * 1000 / of) : 0;
}

int128 sum_of(std::span<const std::int64_t> values) {
    int128 sum = 0;
    for (const std::int64_t one : values)
        sum += one;
    return sum;
}

/// 2 * sum(i * x_i) / (n * sum(x)) - (n + 1) / n in thousandths, i counted from 1.
std::uint32_t gini(std::span<const std::int64_t> sorted, int128 sum) {
    if (sum <= 0 || sorted.front() < 0) return 0;
    const auto n = static_cast<int128>(sorted.size());
    int128 ranked = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i)
        ranked += static_cast<int128>(i + 1) * sorted[i];
    const int128 most = n * sum; // of 2^32 values of 63 bits each: 2000 times it fits as well
    return static_cast<std::uint32_t>(
        std::max<int128>(0, (2000 * ranked - 1000 * (sum + most)) / most));
}

} // namespace

summary summary_of(std::span<const std::int64_t> sorted) noexcept {
    summary result;
    if (sorted.empty()) return result;
    const int128 sum = sum_of(sorted);
    const std::size_t largest = std::max<std::size_t>(1, sorted.size() / 100);
    result.count = sorted.size();
    result.mean_milli = static_cast<std::int64_t>(sum * 1000 / static_cast<int128>(sorted.size()));
    result.p50 = quantile_of(sorted, 50, 100);
    result.p90 = quantile_of(sorted, 90, 100);
    result.p99 = quantile_of(sorted, 99, 100);
    result.most = sorted.back();
    result.zero_permille =
        permille(std::ranges::count(sorted, 0), static_cast<int128>(sorted.size()));
    result.top1_permille = permille(sum_of(sorted.last(largest)), sum);
    result.gini_permille = gini(sorted, sum);
    return result;
}

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
