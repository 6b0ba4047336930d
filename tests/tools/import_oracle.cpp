#include <tools/chains/social/operations.hpp>
#include <tools/chains/swap/operations.hpp>
#include <tools/driver/import/import.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/packed_tables.hpp>

#include <cstdlib>
#include <map>
#include <set>

/// The logs that the project carries, held against what is known of the data.
using namespace chainbase;
using namespace chainbase::test;

namespace {

const std::filesystem::path chains = CHAINBASE_CHAINS_FOLDER;
const auto steem_log = chains / "social" / "data" / "steem-2016.blocks";
const auto swap_log = chains / "swap" / "data" / "eos-swap-2022.blocks";

/// The blocks, read from a copy, so that no index appears among the sources.
std::vector<block> carried_blocks(const std::filesystem::path& log) {
    const temporary_folder folder;
    std::filesystem::copy_file(log, folder / "log");
    return blocks_of(folder / "log");
}

template <class Action>
void for_each_operation(const block& in, Action action) {
    for (const transaction& part : in.transactions)
        for (const bytes& operation : part.operations)
            action(operation);
}

std::string post_key(std::string_view author, std::string_view permlink) {
    return std::string(author) + "/" + std::string(permlink);
}

/// Counts what the social log holds and checks that it is in an order that a chain would accept.
struct social_census {
    struct post {
        std::int64_t created;
        std::int64_t cashout;
    };

    std::int64_t now = 0;
    std::set<std::string, std::less<>> accounts;
    std::map<std::string, post> posts;
    std::set<std::string> authors, voters;
    std::size_t votes = 0, votes_on_paid = 0, paid = 0, unpaid = 0, orphans = 0;
    std::size_t authors_paid_above_zero = 0;
    std::int64_t author_paid = 0, curator_paid = 0;

    void operator()(const social::account_create& op) {
        REQUIRE(accounts.emplace(op.name.view()).second);
    }
    void operator()(const social::comment& op) {
        REQUIRE(accounts.contains(op.author.view()));
        REQUIRE((op.cashout_time == 0 || op.cashout_time > now));
        const bool fresh =
            posts.try_emplace(post_key(op.author, op.permlink), post{now, op.cashout_time}).second;
        REQUIRE(fresh);
        authors.emplace(op.author.view());
        ++(op.cashout_time == 0 ? unpaid : paid);
        author_paid += op.author_payout;
        curator_paid += op.curator_payout;
        authors_paid_above_zero += op.author_payout > 0 ? 1 : 0;
        if (op.parent_author == social::account_name()) return;
        orphans += posts.contains(post_key(op.parent_author, op.parent_permlink)) ? 0 : 1;
    }
    void operator()(const social::vote& op) {
        REQUIRE(accounts.contains(op.voter.view()));
        const post& on = posts.at(post_key(op.author, op.permlink));
        REQUIRE((on.cashout == 0 || now < on.cashout));
        voters.emplace(op.voter.view());
        ++votes;
        votes_on_paid += on.cashout == 0 ? 0 : 1;
    }
    template <typename Other>
    void operator()(const Other&) {
        FAIL("the data has no other operation");
    }
};

/// Counts how many logged reserves follow from the ones before.
struct swap_census {
    std::map<std::uint32_t, std::pair<swap::asset, swap::asset>> reserves;
    std::set<std::string> owners;
    std::size_t swaps = 0, first = 0, out_exact = 0, out_other = 0, in_exact = 0, in_other = 0;

    void operator()(const swap::swap& op) {
        ++swaps;
        owners.emplace(op.owner.view());
        const bool in_is_0 = swap::same_token(op.quantity_in, op.reserve0);
        REQUIRE(swap::same_token(op.quantity_in, in_is_0 ? op.reserve0 : op.reserve1));
        REQUIRE(swap::same_token(op.quantity_out, in_is_0 ? op.reserve1 : op.reserve0));
        const auto [known, fresh] =
            reserves.try_emplace(op.pair_id, std::pair(op.reserve0, op.reserve1));
        if (!fresh) compare(op, known->second, in_is_0);
        first += fresh ? 1 : 0;
        known->second = {op.reserve0, op.reserve1};
    }

    void compare(const swap::swap& op, const std::pair<swap::asset, swap::asset>& before,
                 bool in_is_0) {
        const std::int64_t in = op.quantity_in.amount;
        const std::int64_t in_before = (in_is_0 ? before.first : before.second).amount;
        const std::int64_t out_before = (in_is_0 ? before.second : before.first).amount;
        const std::int64_t in_after = (in_is_0 ? op.reserve0 : op.reserve1).amount;
        const std::int64_t out_after = (in_is_0 ? op.reserve1 : op.reserve0).amount;
        ++(out_after == out_before - op.quantity_out.amount ? out_exact : out_other);
        ++(in_after == in_before + in - in / 1000 ? in_exact : in_other);
    }
};

} // namespace

TEST_CASE("the steem-2016 log holds what the data is known to hold") {
    social_census census;
    std::uint64_t number = 0;
    for (const block& one : carried_blocks(steem_log)) {
        REQUIRE(one.number == ++number);
        REQUIRE(one.timestamp > census.now);
        REQUIRE(one.timestamp % 3 == 0);
        census.now = one.timestamp;
        for_each_operation(one, [&](const bytes& operation) {
            std::visit(census, social::decode_operation(operation));
        });
    }
    CHECK(number == 162'689);
    CHECK(census.accounts.size() == 92'462);
    CHECK(census.posts.size() == 7054);
    CHECK(census.authors.size() == 1709);
    CHECK(census.paid == 3566);
    CHECK(census.unpaid == 3488);
    CHECK(census.orphans == 1660);
    CHECK(census.votes == 174'597);
    CHECK(census.voters.size() == 11'117);
    CHECK(census.votes_on_paid == 21'757);
    CHECK(census.author_paid == 53'183'942);
    CHECK(census.authors_paid_above_zero == 611);
    CHECK(census.curator_paid == 15'249'522);
    CHECK(census.now == 1'474'938'429 / 3 * 3); // the last cash-out, 2016-09-27T01:07:09
}

TEST_CASE("the eos-swap-2022 log holds what the data is known to hold") {
    swap_census census;
    std::size_t blocks = 0, transactions = 0;
    for (const block& one : carried_blocks(swap_log)) {
        ++blocks;
        transactions += one.transactions.size();
        for_each_operation(one, [&](const bytes& operation) {
            std::visit(census, swap::decode_operation(operation));
        });
    }
    CHECK(blocks == 81'069);
    CHECK(transactions == 113'071);
    CHECK(census.swaps == 146'145);
    CHECK(census.reserves.size() == 322);
    CHECK(census.owners.size() == 4621);
    CHECK(census.first == 322);
    CHECK(census.out_exact == 142'939);
    CHECK(census.out_other == 2884);
    CHECK(census.in_exact == 130'611);
    CHECK(census.in_other == 146'145 - 322 - 130'611);
}

TEST_CASE("importing the source tables again gives the logs that the project carries") {
    const char* source = std::getenv("CHAINBASE_SOURCE_DATA");
    if (source == nullptr) {
        WARN("skipped: CHAINBASE_SOURCE_DATA names no folder with the source tables");
        return;
    }
    const temporary_folder folder;
    const std::filesystem::path from = source;
    (void)import_steem_2016(from / "steem-2016", folder / "steem");
    (void)import_eos_swap_2022(from / "eos-swap-2022", folder / "swap");
    CHECK(blocks_of(folder / "steem") == carried_blocks(steem_log));
    CHECK(blocks_of(folder / "swap") == carried_blocks(swap_log));
    if (ZSTD_versionNumber() != 10504) return; // another zstd packs the same blocks otherwise
    CHECK(read_file(folder / "steem") == read_file(steem_log));
    CHECK(read_file(folder / "swap") == read_file(swap_log));
}
