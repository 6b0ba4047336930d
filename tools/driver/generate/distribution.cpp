#include <pool_allocator/base/error.hpp>
#include <tools/chains/checked.hpp>
#include <tools/driver/generate/distribution.hpp>

#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>

#include <algorithm>
#include <sstream>
#include <utility>

namespace chainbase::driver {

extern const std::string_view steem_2016_fit_text; ///< steem_2016.fit

} // namespace chainbase::driver

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
    const int128 most = n * sum; // with 2^32 values of 63 bits each even 2000 times this fits
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
/// Index of the first point between the tails, less the first part's number.
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

namespace {

constexpr std::string_view opening =
    "# Measured from tools/chains/social/data/steem-2016.blocks, real accounts, posts and votes of "
    "the Steem\n# chain, by `chainbase-driver generate --fit BLOCK_LOG`, which prints this file. "
    "Lines: a share; or the\n# name of a distribution, its summary, then its quantiles "
    "(distribution.hpp).\n";

/// The described members of a struct, one after the other.
template <typename T, typename Visitor>
void each_member(T& of, Visitor&& visit) {
    using members =
        boost::describe::describe_members<std::remove_const_t<T>, boost::describe::mod_public>;
    boost::mp11::mp_for_each<members>([&](auto member) { visit(member.name, of.*member.pointer); });
}

/// Reads the words of a fit; throws format_error at an unexpected one.
class fit_reader {
public:
    explicit fit_reader(std::string_view text) : words_(std::string(text.substr(opening.size()))) {}

    template <typename T>
    void read(T& to) {
        if (!(words_ >> to)) throw format_error("steem_2016.fit: a number is missing");
    }
    void expect(std::string_view name) {
        std::string word;
        if (!(words_ >> word) || word != name)
            throw format_error("steem_2016.fit: has \"" + word + "\" in place of " +
                               std::string(name));
    }

private:
    std::istringstream words_;
};

fitted_chain parsed(std::string_view text) {
    fitted_chain all;
    fit_reader words(text);
    each_member(static_cast<chain_shares&>(all), [&](const char* name, auto& value) {
        words.expect(name);
        words.read(value);
    });
    for (std::size_t i = 0; i < distribution_count; ++i) {
        words.expect(all_names[i].second);
        each_member(all.distributions[i].real,
                    [&](const char*, auto& value) { words.read(value); });
        for (std::int64_t& point : all.distributions[i].points)
            words.read(point);
    }
    return all;
}

} // namespace

const fitted_chain& steem_2016_fit() {
    static const fitted_chain all = parsed(driver::steem_2016_fit_text);
    return all;
}

std::string fitted_chain::to_text() const {
    std::string text(opening);
    const auto add = [&](auto number) { text += ' ' + std::to_string(number); };
    each_member(static_cast<const chain_shares&>(*this), [&](const char* name, auto value) {
        text += name;
        add(value);
        text += '\n';
    });
    for (std::size_t i = 0; i < distribution_count; ++i) {
        text += all_names[i].second;
        each_member(distributions[i].real, [&](const char*, auto value) { add(value); });
        std::ranges::for_each(distributions[i].points, add);
        text += '\n';
    }
    return text;
}

} // namespace chainbase::generate
