#include <pool_allocator/error.hpp>
#include <tools/block_log/bytes.hpp>
#include <tools/chains/social/operations.hpp>
#include <tools/driver/generate/activity.hpp>
#include <tools/driver/replay.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/generated_logs.hpp>

#include <algorithm>
#include <set>
#include <variant>

/// Generated chains are valid, the same every time, and as long and mixed as was asked for.
using namespace chainbase;
using namespace chainbase::test;
using generate::operation_mix;

namespace {

std::uint64_t digest_of(const generate::chain_options& options) {
    bytes all;
    for (const block& one : all_blocks(options)) {
        const bytes encoded = encode_block(one);
        all.insert(all.end(), encoded.begin(), encoded.end());
    }
    return checksum(all);
}

driver::replay_report replay_all(const generated_log& log) {
    const catch_interruption signals;
    driver::replay_options options;
    options.block_log = log.path();
    options.state = log.folder / "state";
    options.validate = true;
    options.verify = true;
    return driver::replay(options, signals);
}

std::int64_t count_of(const chain_model::named_counts& counts, std::string_view name) {
    for (const auto& [known, value] : counts)
        if (known == name) return value;
    throw std::runtime_error("there is no " + std::string(name));
}

} // namespace

TEST_CASE("the same options make the same blocks with every compiler") {
    generate::chain_options options = social_chain(20'000, 7);
    CHECK(digest_of(options) == digest_of(options));
    CHECK(digest_of(options) == 0x1476'38d4'd56b'194c);
    options.skew_milli = 300;
    CHECK(digest_of(options) == 0x0559'da79'ae08'f3f6);
    CHECK(digest_of(payments_chain(20'000, 7)) == 0x6b60'd3fd'826b'9e67);
    CHECK(digest_of(social_chain(20'000, 8)) != digest_of(social_chain(20'000, 7)));
}

TEST_CASE("no seed makes an invalid chain") {
    const captured_log quiet;
    const auto seed = static_cast<std::uint64_t>(GENERATE(range(1, 21)));
    INFO("seed " << seed);
    generate::chain_options options = social_chain(6'000, seed);
    options.accounts = seed % 2 == 0 ? 12 : 300; // many votes meet few voters, and the other way
    options.transactions_per_block = seed % 3 == 0 ? 1 : 40;
    options.skew_milli = seed % 5 == 0 ? 0 : 1000;
    options.cash_out_percent = 1; // some are paid before the votes on them end
    if (seed % 4 == 0) {
        options.mix = deleting_mix();
        options.paid_percent = 100;
        options.transactions_per_block = 1;
    }
    const generated_log log(options);
    const driver::replay_report report = replay_all(log);
    CHECK(report.operations == 6'000);
    CHECK(report.blocks == log.report.blocks);
    CHECK(report.verified->problem_count == 0);
}

TEST_CASE("as many comments get paid as is asked for") {
    const captured_log quiet;
    generate::chain_options options = social_chain(60'000, 5);
    options.paid_percent = GENERATE(0, 90, 100);
    std::size_t comments = 0;
    std::size_t paid = 0;
    for (const block& one : all_blocks(options))
        for (const transaction& part : one.transactions)
            for (const bytes& encoded : part.operations)
                if (const social::operation operation = social::decode_operation(encoded);
                    const auto* comment = std::get_if<social::comment>(&operation)) {
                    ++comments;
                    paid += comment->cashout_time != 0 ? 1 : 0;
                }
    REQUIRE(comments > 2'000);
    CHECK(paid * 100 / comments >= *options.paid_percent * 95 / 100);
    CHECK(paid * 95 / comments <= *options.paid_percent);
}

TEST_CASE("a replay of a generated chain pays what its comments say") {
    const captured_log quiet;
    generate::chain_options options = social_chain(60'000, 3);
    options.cash_out_percent = 1;
    std::int64_t authors = 0;
    std::int64_t paid = 0;
    const std::vector<block> blocks = all_blocks(options);
    for (const block& one : blocks)
        for (const transaction& part : one.transactions)
            for (const bytes& encoded : part.operations) {
                const social::operation operation = social::decode_operation(encoded);
                const auto* comment = std::get_if<social::comment>(&operation);
                if (comment == nullptr || comment->cashout_time == 0) continue;
                if (comment->cashout_time > blocks.back().timestamp) continue;
                authors += comment->author_payout;
                ++paid;
            }
    const driver::replay_report report = replay_all(generated_log(options));
    REQUIRE(paid > 50);
    CHECK(count_of(report.oracle, "paid_posts") == paid);
    CHECK(count_of(report.oracle, "author_paid") == authors);
    CHECK(count_of(report.oracle, "votes_on_paid") > 0);
    CHECK(count_of(report.archived, "comment") == paid);
}

TEST_CASE("payments are valid, also when accounts are few and their use is skewed") {
    const captured_log quiet;
    const auto seed = static_cast<std::uint64_t>(GENERATE(range(1, 6)));
    generate::chain_options options = payments_chain(20'000, seed);
    options.accounts = seed % 2 == 0 ? 2 : 5'000;
    options.skew_milli = seed % 3 == 0 ? 0 : 1000;
    const generated_log log(options);
    const driver::replay_report report = replay_all(log);
    CHECK(count_of(report.oracle, "payments") == 20'000 - options.accounts);
    CHECK(report.verified->problem_count == 0);
}

TEST_CASE("operations, transactions and blocks are as many as was asked for") {
    generate::chain_options options = social_chain(50'000, 5);
    options.transactions_per_block = 80;
    const std::vector<block> blocks = all_blocks(options);
    std::uint64_t operations = 0;
    std::uint64_t transactions = 0;
    std::uint64_t full_blocks = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        REQUIRE(blocks[i].number == i + 1);
        if (i > 0) REQUIRE(blocks[i].timestamp == blocks[i - 1].timestamp + 3);
        for (const transaction& part : blocks[i].transactions)
            operations += part.operations.size();
        if (i == 0 || i + 1 == blocks.size()) continue; // accounts, and what is left
        transactions += blocks[i].transactions.size();
        ++full_blocks;
    }
    CHECK(operations == 50'000);
    CHECK(blocks[0].transactions.size() == generate::usual_accounts(50'000));
    CHECK(static_cast<double>(transactions) / static_cast<double>(full_blocks) ==
          Approx(80).epsilon(0.05));
}

TEST_CASE("operations come as the mix says") {
    const captured_log quiet;
    generate::chain_options options = social_chain(200'000, 9);
    options.accounts = 1000;
    if (GENERATE(true, false)) options.mix = generate::parse_mix("vote=50,comment=10,transfer=40");
    const generated_log log(options);
    for (std::size_t kind = 0; kind < operation_mix::kinds; ++kind) {
        const auto& [name, count] = log.report.operations_by_kind[kind];
        const auto made = static_cast<double>(
            count - (kind == operation_mix::account_create ? options.accounts : 0));
        const double share = made / static_cast<double>(options.operations - options.accounts);
        INFO(name);
        CHECK(share == Approx(static_cast<double>(options.mix.weights[kind]) /
                              static_cast<double>(options.mix.sum()))
                           .margin(0.01));
    }
}

TEST_CASE("comments that were paid are deleted, and half of their permlinks are taken again") {
    generate::chain_options options = social_chain(20'000, 4);
    options.mix = deleting_mix();
    options.paid_percent = 100;
    options.transactions_per_block = 1;
    options.cash_out_percent = 1;
    std::set<std::string> written;
    std::size_t deleted = 0;
    std::size_t again = 0;
    for (const block& one : all_blocks(options))
        for (const transaction& each : one.transactions) {
            const auto op = social::decode_operation(each.operations.front());
            if (const auto* post = std::get_if<social::comment>(&op))
                again += written.insert(post->permlink).second ? 0 : 1;
            deleted += std::holds_alternative<social::comment_delete>(op) ? 1 : 0;
        }
    CHECK(deleted > 500);
    CHECK(again > deleted / 2);
}

TEST_CASE("a mix that cannot be is refused") {
    CHECK(generate::parse_mix("custom=60,vote=22,comment=18").weights[operation_mix::vote] == 22);
    CHECK(generate::parse_mix("claim=1").sum() == 1);
    for (const char* text :
         {"", "custom", "custom=", "custom=-1", "custom=1,", "posts=3", "custom=1234567",
          "custom=0", "vote=1", "custom=1 ", "comment_delete=1"}) {
        INFO(text);
        CHECK_THROWS_AS(generate::parse_mix(text), usage_error);
    }
}

TEST_CASE("options that do not fit together are refused before a file is made") {
    const temporary_folder folder;
    const catch_interruption signals;
    generate::chain_options options = social_chain(100, 1);
    options.accounts = 51;
    CHECK_THROWS_AS(generate::generate_log(options, {}, folder / "log", signals), usage_error);
    options = social_chain(10, 1); // the fewest accounts are half of 20
    CHECK_THROWS_AS(generate::generate_log(options, {}, folder / "log", signals), usage_error);
    options = social_chain(100, 1);
    options.chain = "steem-2016";
    CHECK_THROWS_AS(generate::generate_log(options, {}, folder / "log", signals), usage_error);
    CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a log that cannot get its name leaves no branches that refuse the same call") {
    const captured_log quiet;
    const temporary_folder folder;
    const catch_interruption signals;
    const auto make = [&] {
        return generate_log(social_chain(2'000, 1), {.percent = 20}, folder / "log", signals);
    };
    std::filesystem::create_symlink("nowhere", folder / "log"); // a name that only the end sees
    CHECK_THROWS_AS(make(), usage_error);
    CHECK_FALSE(std::filesystem::exists(folder / "log.forks"));
    std::filesystem::remove(folder / "log");
    CHECK(make().forks.branches > 0);
}

TEST_CASE("accounts have names of their own") {
    std::set<std::string> names;
    for (std::uint32_t n = 0; n < 200'000; ++n)
        names.insert(std::string(generate::name_of_account(n).view()));
    CHECK(names.size() == 200'000);
    CHECK(generate::name_of_account(generate::most_accounts - 1).view().size() >= 8);
}
