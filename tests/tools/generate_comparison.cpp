#include <tools/driver/generate/comparison.hpp>
#include <tools/driver/generate/steem_2016_fit.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/generated_logs.hpp>
#include <tests/tools/real_logs.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

/// What is generated is distributed as the real data is.
using namespace chainbase;
using namespace chainbase::test;
using generate::compared_distribution;
using generate::distribution;
using generate::steem_2016_fit;

namespace {

double as_double(std::int64_t value) {
    return static_cast<double>(value);
}

/// Within a part of the real value, or a small difference of small numbers.
bool is_near(std::int64_t made, std::int64_t real, double part, double margin) {
    return std::abs(as_double(made) - as_double(real)) <= part * std::abs(as_double(real)) + margin;
}

/// Payouts have a few large values among almost none: what lies at a quantile there hangs on few.
bool is_payout(distribution which) {
    return which == distribution::post_author_payout ||
           which == distribution::post_curator_payout ||
           which == distribution::reply_author_payout ||
           which == distribution::reply_curator_payout;
}

/// Chance adds to what each account is to do, and newcomers to their number.
bool is_activity(distribution which) {
    return which == distribution::comments_of_author || which == distribution::votes_of_voter;
}

/// What is nowhere drawn, but follows from the shape of the threads, lies less near.
bool is_drawn(distribution which) {
    return which != distribution::reply_descendants;
}

void check(const compared_distribution& row) {
    const generate::summary& real = row.real;
    const generate::summary& made = row.generated;
    INFO(name_of(row.which) << ": mean " << made.mean_milli << " of " << real.mean_milli << ", p50 "
                            << made.p50 << " of " << real.p50 << ", p90 " << made.p90 << " of "
                            << real.p90 << ", p99 " << made.p99 << " of " << real.p99 << ", most "
                            << made.most << " of " << real.most << ", top " << made.top1_permille
                            << " of " << real.top1_permille << ", gini " << made.gini_permille
                            << " of " << real.gini_permille);
    CHECK(made.count > 0);
    CHECK(is_near(made.p50, real.p50, 0.1, is_activity(row.which) ? 3 : 1));
    CHECK(is_near(made.zero_permille, real.zero_permille, 0, is_drawn(row.which) ? 25 : 60));
    if (is_payout(row.which)) return;
    CHECK(is_near(made.mean_milli, real.mean_milli, 0.15, 100));
    CHECK(is_near(made.p90, real.p90, 0.15, 2));
    CHECK(is_near(made.p99, real.p99, 0.25, 3));
    CHECK(is_near(made.most, real.most, is_activity(row.which) ? 0.65 : 0.5, 3));
    CHECK(is_near(made.top1_permille, real.top1_permille, 0.25, 20));
    const bool is_loose = is_activity(row.which) || !is_drawn(row.which);
    CHECK(is_near(made.gini_permille, real.gini_permille, 0, is_loose ? 60 : 30));
}

} // namespace

TEST_CASE("the fit is what the log of real data measures") {
    const captured_log quiet;
    const real_log log("steem-2016");
    CHECK(fit_header(generate::measure(log.path())) ==
          read_file(std::filesystem::path(CHAINBASE_GENERATE_FOLDER) / "steem_2016_fit.hpp"));
}

TEST_CASE("a real chain compares to itself") {
    const captured_log quiet;
    const real_log log("steem-2016");
    const generate::comparison all = compare(generate::measure(log.path()));
    for (const compared_distribution& row : all.distributions) {
        INFO(name_of(row.which));
        if (row.is_scaled)
            CHECK(is_near(row.real.mean_milli, row.generated.mean_milli, 0.1, 2));
        else
            CHECK(row.real == row.generated);
    }
    CHECK(all.reply_permille == steem_2016_fit.reply_permille);
    CHECK(all.voter_per_100_000 == steem_2016_fit.voter_per_100_000);
}

TEST_CASE("a distribution is drawn from its least to its most, in order") {
    for (const auto& one : steem_2016_fit.distributions) {
        CHECK(generate::value_at(one.points, 0) == one.points.front());
        CHECK(generate::value_at(one.points, UINT64_MAX) <= one.real.most);
        CHECK(one.points.back() == one.real.most);
        CHECK(std::ranges::is_sorted(one.points));
        std::int64_t before = INT64_MIN;
        for (std::uint64_t i = 0; i < 10'000; ++i) {
            const std::int64_t value = generate::value_at(one.points, i * (UINT64_MAX / 10'000));
            REQUIRE(value >= before);
            before = value;
        }
    }
}

TEST_CASE("generated distributions lie near the real ones") {
    const captured_log quiet;
    generate::chain_options options = social_chain(400'000, 1);
    options.accounts = 50'000; // votes for each voter about as many as there really were
    // The same for each comment.
    if (GENERATE(true, false))
        options.mix = generate::parse_mix("custom=2500,vote=2475,comment=100");
    const generated_log log(options);
    const generate::comparison all = compare(generate::measure(log.path()));
    for (const compared_distribution& row : all.distributions)
        check(row);
    CHECK(is_near(all.reply_permille, steem_2016_fit.reply_permille, 0, 20));
    CHECK(is_near(all.paid_post_permille, steem_2016_fit.paid_post_permille, 0, 20));
    CHECK(is_near(all.paid_reply_permille, steem_2016_fit.paid_reply_permille, 0, 20));
    CHECK(is_near(all.voter_per_100_000, steem_2016_fit.voter_per_100_000, 0.3, 0));
    CHECK(is_near(all.author_per_100_000, steem_2016_fit.author_per_100_000, 0.3, 0));
}

TEST_CASE("as many replies of each depth as there really are") {
    const captured_log quiet;
    const real_log real("steem-2016");
    const generated_log made(social_chain(400'000, 1));
    const auto permille_of_depth = [](const std::filesystem::path& log) {
        const auto depths = generate::measure(log).of(distribution::reply_depth);
        std::vector<std::int64_t> shares;
        for (std::int64_t depth = 0; depth <= 7; ++depth)
            shares.push_back(std::ranges::count(depths, depth) * 1000 / std::ssize(depths));
        return shares;
    };
    // Counted from the table of posts: of 1,910 replies 1,451, 261, 99, 56, 40 and 3.
    const std::vector<std::int64_t> really{0, 759, 136, 51, 29, 20, 1, 0};
    CHECK(permille_of_depth(real.path()) == really);
    const std::vector<std::int64_t> shares = permille_of_depth(made.path());
    for (std::size_t depth = 0; depth < shares.size(); ++depth) {
        INFO("depth " << depth);
        CHECK(is_near(shares[depth], really[depth], 0, 15));
    }
}

TEST_CASE("without skew everybody is as active as everybody else") {
    const captured_log quiet;
    std::uint32_t before = 1000;
    for (const std::uint32_t skew : {1000, 500, 0}) {
        generate::chain_options options = social_chain(100'000, 1);
        options.accounts = 500;
        options.mix = generate::parse_mix("vote=50,comment=10,custom=40");
        options.skew_milli = skew;
        const generated_log log(options);
        const generate::comparison all = compare(generate::measure(log.path()));
        const auto& voters =
            all.distributions[static_cast<std::size_t>(distribution::votes_of_voter)].generated;
        INFO("skew " << skew << ", gini " << voters.gini_permille);
        if (skew == 0) CHECK(voters.gini_permille < 100);
        if (skew == 0) CHECK(voters.count == 500);
        if (skew == 500) CHECK(voters.count == 500);
        if (skew != 1000) CHECK(voters.gini_permille < before);
        before = skew == 1000 ? 1000 : voters.gini_permille;
    }
}
