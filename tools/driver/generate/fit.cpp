#include <tools/driver/generate/fit.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace chainbase::generate {
namespace {

constexpr std::string_view opening = R"(#pragma once

#include <tools/driver/generate/distribution.hpp>

namespace chainbase::generate {

// clang-format off

/// Measured from tools/chains/social/data/steem-2016.blocks, real accounts, posts and votes of the
/// Steem chain, by `chainbase-driver generate --fit BLOCK_LOG`, which prints this file.
)";

constexpr std::string_view closing = R"(
// clang-format on

} // namespace chainbase::generate
)";

std::string text_of(const summary& one) {
    return fmt::format("{{{}, {}, {}, {}, {}, {}, {}, {}, {}}}", one.count, one.mean_milli, one.p50,
                       one.p90, one.p99, one.most, one.zero_permille, one.top1_permille,
                       one.gini_permille);
}

/// Lines of at most 100 columns.
std::string text_of(const quantile_points& points) {
    std::string text;
    std::string line = "       ";
    for (const std::int64_t one : points) {
        const std::string next = fmt::format(" {},", one);
        if (line.size() + next.size() > 100) {
            text += line + "\n";
            line = "       ";
        }
        line += next;
    }
    return text + line + "\n";
}

} // namespace

std::string fit_header(const measures& of) {
    std::string text(opening);
    text += "inline constexpr fitted_chain steem_2016_fit{\n";
    text +=
        fmt::format("    .reply_permille = {},\n", share(of.replies, of.posts + of.replies, 1000));
    text += fmt::format("    .paid_post_permille = {},\n", share(of.paid_posts, of.posts, 1000));
    text +=
        fmt::format("    .paid_reply_permille = {},\n", share(of.paid_replies, of.replies, 1000));
    text += fmt::format("    .author_per_100_000 = {},\n", share(of.authors, of.accounts, 100'000));
    text += fmt::format("    .voter_per_100_000 = {},\n", share(of.voters, of.accounts, 100'000));
    text += "    .distributions = {{\n";
    for (std::size_t i = 0; i < distribution_count; ++i) {
        const auto which = static_cast<distribution>(i);
        text +=
            fmt::format("    {{ // {}\n    {},\n    {{{{\n{}    }}}}}},\n", identifier_of(which),
                        text_of(summary_of(of.of(which))), text_of(points_of(of.of(which))));
    }
    text += "}}};\n";
    return text + std::string(closing);
}

} // namespace chainbase::generate
