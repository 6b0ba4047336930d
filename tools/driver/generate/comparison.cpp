#include <pool_allocator/base/error.hpp>
#include <tools/block_log/block_log_reader.hpp>
#include <tools/chains/checked.hpp>
#include <tools/chains/social/operations.hpp>
#include <tools/driver/generate/comparison.hpp>
#include <tools/driver/generate/distribution.hpp>
#include <tools/driver/generate/mix.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

namespace chainbase::generate {

namespace {

constexpr std::size_t none = SIZE_MAX;

struct counted_comment {
    bool is_post = false;
    std::size_t parent = none; ///< index of the parent, below its own
    std::int64_t depth = 0;    ///< 0 for a post; -1 when the post is not in the log
    std::int64_t votes = 0;
    std::int64_t descendants = 0;
};

std::string key_of(std::string_view author, std::string_view permlink) {
    std::string key(author);
    key += '/';
    key += permlink;
    return key;
}

class measurement {
public:
    /// `states_descendants`: the log states them, so they are not counted.
    explicit measurement(bool states_descendants) : states_descendants_(states_descendants) {}

    void add(const block& next) {
        now_ = next.timestamp;
        for (const transaction& part : next.transactions)
            for (const bytes& encoded : part.operations)
                add(social::decode_operation(encoded));
    }

    measures finish() {
        if (!states_descendants_) count_descendants();
        for (const counted_comment& one : comments_) {
            note(one.is_post, distribution::post_votes, one.votes);
            note(one.is_post, distribution::post_descendants, one.descendants);
            if (one.depth > 0) note(distribution::reply_depth, one.depth);
        }
        note_all(by_author_, distribution::comments_of_author);
        note_all(by_voter_, distribution::votes_of_voter);
        result_.authors = by_author_.size();
        result_.voters = by_voter_.size();
        for (auto& values : result_.values)
            std::ranges::sort(values);
        return std::move(result_);
    }

private:
    using counts = std::unordered_map<std::string, std::int64_t>;

    void add(const social::operation& one) {
        ++result_.operations;
        ++result_.operations_by_kind[one.index()];
        if (const auto* comment = std::get_if<social::comment>(&one)) add(*comment);
        if (const auto* vote = std::get_if<social::vote>(&one)) add(*vote);
        if (std::holds_alternative<social::account_create>(one)) ++result_.accounts;
    }

    void add(const social::comment& op) {
        const bool is_post = op.parent_author == social::account_name();
        const bool is_paid = op.cashout_time != 0;
        ++(is_post ? result_.posts : result_.replies);
        if (is_paid) ++(is_post ? result_.paid_posts : result_.paid_replies);
        ++by_author_[std::string(op.author.view())];
        note(is_post, distribution::post_title_bytes, op.title_bytes);
        note(is_post, distribution::post_body_bytes, op.body_bytes);
        note(is_post, distribution::post_permlink_bytes, std::ssize(op.permlink));
        if (is_paid) {
            note(is_post, distribution::post_cash_out_seconds, op.cashout_time - now_);
            note(is_post, distribution::post_author_payout, op.author_payout);
            note(is_post, distribution::post_curator_payout, op.curator_payout);
        }
        counted_comment one{is_post, none, is_post ? 0 : -1, 0, op.children};
        if (!is_post) find_parent(op, one);
        places_[key_of(op.author, op.permlink)] = comments_.size();
        comments_.push_back(one);
    }

    void find_parent(const social::comment& op, counted_comment& of) const {
        const auto found = places_.find(key_of(op.parent_author, op.parent_permlink));
        if (found == places_.end()) return;
        of.parent = found->second;
        const std::int64_t above = comments_[of.parent].depth;
        of.depth = above < 0 ? -1 : above + 1;
    }

    void count_descendants() {
        for (counted_comment& one : comments_)
            one.descendants = 0;
        for (const counted_comment& one : std::views::reverse(comments_))
            if (one.parent != none) comments_[one.parent].descendants += one.descendants + 1;
    }

    void add(const social::vote& op) {
        ++by_voter_[std::string(op.voter.view())];
        const auto on = places_.find(key_of(op.author, op.permlink));
        if (on != places_.end()) ++comments_[on->second].votes;
        note(distribution::vote_percent, op.percent);
        note(distribution::vote_rshares, op.rshares);
    }

    void note(distribution which, std::int64_t value) {
        result_.values[static_cast<std::size_t>(which)].push_back(value);
    }
    void note(bool is_post, distribution of_posts, std::int64_t value) {
        note(of_kind(of_posts, !is_post), value);
    }
    void note_all(const counts& from, distribution which) {
        for (const auto& [name, count] : from)
            note(which, count);
    }

    bool states_descendants_;
    std::int64_t now_ = 0;
    std::vector<counted_comment> comments_; ///< in order of creation
    std::unordered_map<std::string, std::size_t> places_;
    counts by_author_;
    counts by_voter_;
    measures result_;
};

} // namespace

measures measure(const std::filesystem::path& block_log) {
    const block_log_reader log(block_log);
    if (log.chain() != social::chain_name && log.chain() != social::generated_chain_name)
        throw usage_error(block_log.string() + ": holds blocks of " + log.chain() +
                          "; only a log of the social chain can be measured");
    measurement all(log.chain() == social::chain_name);
    auto stream = log.stream();
    while (const auto next = stream.next())
        all.add(*next);
    return all.finish();
}

namespace {

/// `part` of `of` in units of 1/`scale`; 0 when `of` is 0.
std::uint32_t share(std::uint64_t part, std::uint64_t of, std::uint64_t scale) noexcept {
    return of == 0 ? 0 : static_cast<std::uint32_t>(part * scale / of);
}

chain_shares shares_of(const measures& of) {
    return {.reply_permille = share(of.replies, of.posts + of.replies, 1000),
            .paid_post_permille = share(of.paid_posts, of.posts, 1000),
            .paid_reply_permille = share(of.paid_replies, of.replies, 1000),
            .author_per_100_000 = share(of.authors, of.accounts, 100'000),
            .voter_per_100_000 = share(of.voters, of.accounts, 100'000)};
}

} // namespace

fitted_chain fit_of(const measures& of) {
    fitted_chain fit{shares_of(of)};
    for (std::size_t i = 0; i < distribution_count; ++i)
        fit.distributions[i] = {summary_of(of.values[i]), points_of(of.values[i])};
    return fit;
}

namespace {

constexpr std::uint64_t factor_of_one = 1 << 16; // fixed point of a factor

/// Real values times `factor`, rounded up as often as the remainder requires.
summary scaled(const fitted_distribution& real, uint128 factor) {
    constexpr std::uint64_t places = 1 << 16;
    std::vector<std::int64_t> values;
    for (std::uint64_t i = 0; i < places; ++i) {
        const auto value = static_cast<uint128>(value_at(real.points, (2 * i + 1) << 47));
        const std::uint64_t rounding = i * 40'503 % factor_of_one;
        values.push_back(static_cast<std::int64_t>((value * factor + rounding) / factor_of_one));
    }
    std::ranges::sort(values);
    summary result = summary_of(values);
    result.count = real.real.count;
    return result;
}

std::uint64_t total_of(const summary& a) {
    return static_cast<std::uint64_t>(a.mean_milli) * a.count;
}

/// The factor that scales the mean over posts and replies to the generated one.
uint128 common_factor(const measures& generated, distribution of_posts) {
    const auto of_replies = of_kind(of_posts, true);
    const summary post = steem_2016_fit().of(of_posts).real;
    const summary reply = steem_2016_fit().of(of_replies).real;
    const summary made_post = summary_of(generated.of(of_posts));
    const summary made_reply = summary_of(generated.of(of_replies));
    const uint128 made = static_cast<uint128>(total_of(made_post) + total_of(made_reply)) *
                         (post.count + reply.count);
    const uint128 real = static_cast<uint128>(total_of(post) + total_of(reply)) *
                         std::max<std::uint64_t>(made_post.count + made_reply.count, 1);
    return made * factor_of_one / real;
}

uint128 own_factor(const summary& real, const summary& made) {
    return static_cast<uint128>(made.mean_milli) * factor_of_one /
           static_cast<uint128>(real.mean_milli);
}

compared_distribution compare(const measures& generated, distribution which) {
    const fitted_distribution& fit = steem_2016_fit().of(which);
    compared_distribution result{which, true, fit.real, summary_of(generated.of(which))};
    switch (which) {
    case distribution::post_votes:
    case distribution::reply_votes:
        result.real = scaled(fit, common_factor(generated, distribution::post_votes));
        break;
    case distribution::post_descendants:
    case distribution::reply_descendants:
    case distribution::comments_of_author:
    case distribution::votes_of_voter:
        result.real = scaled(fit, own_factor(fit.real, result.generated));
        break;
    default:
        result.is_scaled = false;
    }
    return result;
}

std::string line(std::string_view name, std::string_view side, const summary& of) {
    return fmt::format("{:<34} {:<9} {:>18.3f} {:>14} {:>16} {:>16} {:>18} {:>6.1f} {:>6.1f} "
                       "{:>5.3f}\n",
                       name, side, static_cast<double>(of.mean_milli) / 1000, of.p50, of.p90,
                       of.p99, of.most, of.zero_permille / 10.0, of.top1_permille / 10.0,
                       of.gini_permille / 1000.0);
}

std::string shares_in_words(const comparison& of) {
    std::string text = "operations:";
    for (const auto& [kind, count] : of.operations_by_kind)
        text += fmt::format(" {} {:.1f} %", kind, share(count, of.operations, 1000) / 10.0);
    const auto row = [](std::string_view name, double real, double made) {
        return fmt::format("{:<44} {:>8.1f} {:>9.1f}\n", name, real, made);
    };
    const chain_shares& fit = steem_2016_fit();
    text += fmt::format("\n\n{:<44} {:>8} {:>9}\n", "per cent", "real", "generated");
    text += row("comments that are replies", fit.reply_permille / 10.0, of.reply_permille / 10.0);
    text +=
        row("posts with a cash-out", fit.paid_post_permille / 10.0, of.paid_post_permille / 10.0);
    text += row("replies with a cash-out", fit.paid_reply_permille / 10.0,
                of.paid_reply_permille / 10.0);
    text +=
        row("accounts that write", fit.author_per_100_000 / 1000.0, of.author_per_100_000 / 1000.0);
    text +=
        row("accounts that vote", fit.voter_per_100_000 / 1000.0, of.voter_per_100_000 / 1000.0);
    return text;
}

} // namespace

comparison compare(const measures& generated) {
    comparison result;
    static_cast<chain_shares&>(result) = shares_of(generated);
    result.operations = generated.operations;
    for (std::size_t i = 0; i < operation_mix::kinds; ++i)
        result.operations_by_kind.emplace_back(name_of(static_cast<operation_mix::kind>(i)),
                                               generated.operations_by_kind[i]);
    for (std::size_t i = 0; i < distribution_count; ++i) {
        const auto which = static_cast<distribution>(i);
        result.distributions.emplace_back(identifier_of(which), compare(generated, which));
    }
    return result;
}

std::string to_text(const comparison& of) {
    std::string text = shares_in_words(of);
    text += fmt::format("\n{:<34} {:<9} {:>18} {:>14} {:>16} {:>16} {:>18} {:>6} {:>6} {:>5}\n", "",
                        "", "mean", "p50", "p90", "p99", "most", "zero %", "top 1%", "gini");
    for (const auto& [name, row] : of.distributions) {
        text += line(name_of(row.which), row.is_scaled ? "real *" : "real", row.real);
        text += line("", "generated", row.generated);
    }
    return text + "* scaled to the generated mean, which follows from the mix and the length\n";
}

} // namespace chainbase::generate
