#include <pool_allocator/base/error.hpp>
#include <tools/block_log/branch_file.hpp>
#include <tools/chains/checked.hpp>
#include <tools/driver/chain_state.hpp>
#include <tools/driver/generate/activity.hpp>
#include <tools/driver/generate/branch_generator.hpp>
#include <tools/driver/generate/comparison.hpp>
#include <tools/driver/generate/open_comments.hpp>

#include <catch2/catch.hpp>
#include <tests/support/captured_log.hpp>
#include <tests/support/property.hpp>
#include <tests/tools/generated_logs.hpp>
#include <tests/tools/real_logs.hpp>
#include <tests/tools/sample_logs.hpp>

#include <algorithm>
#include <set>

/// The parts of the generator: branches of a chain, valid except where made invalid, open comments,
/// names, drawn values. tests/programs/test_driver_generate.py makes and compares whole logs.
using namespace chainbase;
using namespace chainbase::test;
using driver::chain_state;
using generate::make_branch;
using generate::random_numbers;

namespace {

std::vector<transaction> transactions_of(std::span<const block> blocks) {
    std::vector<transaction> all;
    for (const block& one : blocks)
        all.insert(all.end(), one.transactions.begin(), one.transactions.end());
    return all;
}

/// Whether a branch has the chain's transactions in order, none later, and differs from the chain.
bool is_redistributed(const branch& one, std::span<const block> main, std::size_t length) {
    const auto before = transactions_of(main);
    const auto after = transactions_of(one.blocks);
    if (one.blocks.size() != length || one.blocks.front() == main.front()) return false;
    if (after.size() > before.size()) return false;
    if (!std::equal(after.begin(), after.end(), before.begin())) return false;
    std::size_t done = 0;
    std::size_t done_by_main = 0;
    for (std::size_t i = 0; i < length; ++i) {
        if (one.blocks[i].number != main[i].number) return false;
        if (one.blocks[i].timestamp != main[i].timestamp) return false;
        done += one.blocks[i].transactions.size();
        done_by_main += main[i].transactions.size();
        if (i + 1 < length && done < done_by_main) return false; // something comes later
    }
    return true;
}

/// Where the branch ends: its length, or the block that is rejected. The state is as before then.
std::size_t apply_and_pop(chain_state& state, const branch& one) {
    std::size_t applied = 0;
    try {
        for (; applied < one.blocks.size(); ++applied)
            state.apply(one.blocks[applied]);
    } catch (const rejected_error&) {
    }
    for (std::size_t i = 0; i < applied; ++i)
        state.pop();
    return applied;
}

struct applied_branches {
    std::size_t good = 0;
    std::size_t bad = 0;
};

/// The blocks of a log, and behind each the branches that fork off there.
applied_branches apply_all(const std::filesystem::path& log, const std::filesystem::path& forks,
                           const std::filesystem::path& folder, std::int64_t depth) {
    applied_branches result;
    const block_log_reader reader(log);
    chain_state state(folder, reader.chain(), depth + 1);
    branch_file_reader branches(forks, reader.chain());
    auto waiting = branches.next();
    auto blocks = reader.stream();
    while (const auto next = blocks.next()) {
        state.apply(*next);
        for (; waiting && waiting->forks_after == next->number; waiting = branches.next()) {
            const std::size_t applied = apply_and_pop(state, *waiting);
            REQUIRE(applied + 1 >= waiting->blocks.size()); // only the last may be refused
            ++(applied == waiting->blocks.size() ? result.good : result.bad);
        }
        REQUIRE(state.head() == next->number);
    }
    CHECK_FALSE(waiting);
    state.finish();
    state.model().check();
    return result;
}

} // namespace

TEST_CASE("a branch has the transactions of the chain in its order, none later") {
    int made = 0;
    check_property(5'000, 100, [&](std::uint32_t seed) {
        random_numbers random(seed);
        const std::vector<block> blocks = sample_blocks(12, seed);
        const std::size_t length = random.between(1, 9);
        const auto main = std::span(blocks).first(length + random.below(2));
        const auto one = make_branch(blocks.front().number - 1, main, length, random);
        made += one ? 1 : 0;
        RC_ASSERT((!one || is_redistributed(*one, main, length)));
    });
    CHECK(made > 2'500);
}

TEST_CASE("where nothing can come early there is no branch") {
    random_numbers random(1);
    const std::vector<block> idle{{5, 15, {}}, {6, 18, {}}};
    CHECK_FALSE(make_branch(4, idle, 1, random));
    const std::vector<block> last{{5, 15, {{{bytes{std::byte{1}}}}}}, {6, 18, {}}};
    const std::vector<block> next{last[0], {6, 18, {{{bytes{std::byte{2}}}}}}};
    for (int round = 0; round < 50; ++round) {
        CHECK_FALSE(make_branch(4, last, 1, random));
        const auto one = make_branch(4, next, 1, random);
        REQUIRE(one);
        CHECK(is_redistributed(*one, next, 1));
    }
}

TEST_CASE("branches of generated chains are valid, and bad ones end with what is refused") {
    const captured_log quiet;
    generate::chain_options options = social_chain(20'000, new_seed());
    INFO("CHAINBASE_TEST_SEED=" << options.seed);
    options.chain = GENERATE("social", "payments");
    options.cash_out_percent = 1;
    const generated_log log(options, {.percent = 40, .depth = 12, .bad_percent = 25});
    const auto all =
        apply_all(log.path(), generate::forks_path(log.path()), log.folder / "state", 12);
    CHECK(all.good + all.bad == log.report.branches);
    CHECK(all.bad == log.report.bad_branches);
    CHECK(all.good > 20);
    CHECK(all.bad > 5);
}

TEST_CASE("branches of real logs are valid, too") {
    const captured_log quiet;
    const std::string chain = GENERATE("steem-2016", "eos-swap-2022");
    const real_log log(chain);
    const temporary_folder folder(memory_or_disk());
    const catch_interruption signals;
    const auto made = generate::generate_forks_of(
        log.path(), {.percent = 1, .depth = 5, .bad_percent = 10}, 3, folder / "forks", signals);
    const auto all = apply_all(log.path(), folder / "forks", folder / "state", 5);
    CHECK(all.good + all.bad == made.branches);
    CHECK(all.bad == made.bad_branches);
    CHECK(all.bad > 0);
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
    CHECK(make().branches > 0);
}

TEST_CASE("a distribution is drawn from its least to its most, in order") {
    for (const auto& one : generate::steem_2016_fit().distributions) {
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

TEST_CASE("a thread is kept until it is complete, and no longer") {
    using generate::open_comments;
    using awaited = open_comments::awaited;
    open_comments open;
    const auto post = open.add({.permlink = "post"});
    for (const std::uint64_t block : {1, 2, 3})
        open.await(awaited::reply, post, block);

    REQUIRE(open.take(awaited::reply) == post);
    const auto first = open.add_reply(post, {.permlink = "first", .depth = 1});
    open.await(awaited::vote, first, 9);
    REQUIRE(open.take(awaited::reply) == post);
    const auto second = open.add_reply(post, {.permlink = "second", .depth = 2});
    open.forget_if_done(second);
    CHECK(open[second].permlink == "second"); // nothing is to come to it but further replies
    CHECK(open[post].thread == std::vector{first, second});

    REQUIRE(open.take(awaited::reply) == post);
    const auto last = open.add_reply(post, {.permlink = "last", .depth = 1});
    open.forget_if_done(last);
    CHECK(open[first].permlink == "first"); // the vote
    CHECK(open[second].permlink.empty());
    CHECK(open[last].permlink.empty());
    CHECK(open[post].permlink.empty());

    REQUIRE(open.take(awaited::vote) == first);
    open.came(first);
    for (int i = 0; i < 4; ++i) // in the places of the four
        CHECK(open.add({}) <= last);
}

TEST_CASE("accounts have names of their own") {
    std::set<std::string> names;
    for (std::uint32_t n = 0; n < 200'000; ++n)
        names.insert(std::string(generate::name_of_account(n).view()));
    CHECK(names.size() == 200'000);
    CHECK(generate::name_of_account(generate::max_accounts - 1).view().size() >= 8);
}
