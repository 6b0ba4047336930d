#include <tools/chains/checked.hpp>
#include <tools/driver/generate/comparison.hpp>
#include <tools/driver/generate/mix.hpp>
#include <tools/driver/generate/steem_2016_fit.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <span>

namespace chainbase::generate {
namespace {

constexpr std::uint64_t factor_of_one = 1 << 16; // of a factor

/// Real values times `factor`, rounded up as often as the rest asks for.
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

/// What makes the mean over posts and replies the generated one.
uint128 common_factor(const measures& generated, distribution of_posts) {
    const auto of_replies = of_kind(of_posts, true);
    const summary post = steem_2016_fit.of(of_posts).real;
    const summary reply = steem_2016_fit.of(of_replies).real;
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
    const fitted_distribution& fit = steem_2016_fit.of(which);
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
    for (std::size_t i = 0; i < operation_mix::kinds; ++i)
        text += fmt::format(" {} {:.1f} %", name_of(static_cast<operation_mix::kind>(i)),
                            share(of.operations_by_kind[i], of.operations, 1000) / 10.0);
    const auto row = [](std::string_view name, double real, double made) {
        return fmt::format("{:<44} {:>8.1f} {:>9.1f}\n", name, real, made);
    };
    const fitted_chain& fit = steem_2016_fit;
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

nlohmann::ordered_json json_of(const summary& of) {
    return {{"count", of.count},
            {"mean_milli", of.mean_milli},
            {"p50", of.p50},
            {"p90", of.p90},
            {"p99", of.p99},
            {"most", of.most},
            {"zero_permille", of.zero_permille},
            {"top1_permille", of.top1_permille},
            {"gini_permille", of.gini_permille}};
}

} // namespace

comparison compare(const measures& generated) {
    comparison result;
    for (std::size_t i = 0; i < distribution_count; ++i)
        result.distributions.push_back(compare(generated, static_cast<distribution>(i)));
    const measures& of = generated;
    result.operations = of.operations;
    result.operations_by_kind = of.operations_by_kind;
    result.reply_permille = share(of.replies, of.posts + of.replies, 1000);
    result.paid_post_permille = share(of.paid_posts, of.posts, 1000);
    result.paid_reply_permille = share(of.paid_replies, of.replies, 1000);
    result.author_per_100_000 = share(of.authors, of.accounts, 100'000);
    result.voter_per_100_000 = share(of.voters, of.accounts, 100'000);
    return result;
}

std::string to_text(const comparison& of) {
    std::string text = shares_in_words(of);
    text += fmt::format("\n{:<34} {:<9} {:>18} {:>14} {:>16} {:>16} {:>18} {:>6} {:>6} {:>5}\n", "",
                        "", "mean", "p50", "p90", "p99", "most", "zero %", "top 1%", "gini");
    for (const compared_distribution& row : of.distributions) {
        text += line(name_of(row.which), row.is_scaled ? "real *" : "real", row.real);
        text += line("", "generated", row.generated);
    }
    return text + "* scaled to the generated mean, which follows from the mix and the length\n";
}

std::string to_json(const comparison& of) {
    nlohmann::ordered_json mix;
    for (std::size_t i = 0; i < operation_mix::kinds; ++i)
        mix[std::string(name_of(static_cast<operation_mix::kind>(i)))] = of.operations_by_kind[i];
    nlohmann::ordered_json rows;
    for (const compared_distribution& row : of.distributions)
        rows[std::string(identifier_of(row.which))] = {{"is_scaled", row.is_scaled},
                                                       {"real", json_of(row.real)},
                                                       {"generated", json_of(row.generated)}};
    const nlohmann::ordered_json all{{"operations", of.operations},
                                     {"operations_by_kind", mix},
                                     {"reply_permille", of.reply_permille},
                                     {"paid_post_permille", of.paid_post_permille},
                                     {"paid_reply_permille", of.paid_reply_permille},
                                     {"author_per_100_000", of.author_per_100_000},
                                     {"voter_per_100_000", of.voter_per_100_000},
                                     {"distributions", rows}};
    return all.dump();
}

} // namespace chainbase::generate
