#include <pool_allocator/error.hpp>
#include <tools/block_log/block_log_reader.hpp>
#include <tools/chains/checked.hpp>
#include <tools/driver/chain_state.hpp>
#include <tools/driver/generate/branch_dealer.hpp>

#include <catch2/catch.hpp>
#include <tests/support/random_source.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/generated_logs.hpp>
#include <tests/tools/real_logs.hpp>
#include <tests/tools/sample_blocks.hpp>

#include <algorithm>

/// Branches of a chain are valid up to where they are made not to be.
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

void check_dealt(const branch& one, std::span<const block> main, std::size_t length) {
    REQUIRE(one.blocks.size() == length);
    const auto before = transactions_of(main);
    const auto after = transactions_of(one.blocks);
    REQUIRE(after.size() <= before.size());
    REQUIRE(std::equal(after.begin(), after.end(), before.begin()));
    std::size_t done = 0;
    std::size_t done_by_main = 0;
    for (std::size_t i = 0; i < length; ++i) {
        REQUIRE(one.blocks[i].number == main[i].number);
        REQUIRE(one.blocks[i].timestamp == main[i].timestamp);
        done += one.blocks[i].transactions.size();
        done_by_main += main[i].transactions.size();
        if (i + 1 < length) REQUIRE(done >= done_by_main); // nothing comes later
    }
    REQUIRE(one.blocks.front() != main.front());
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
    const std::uint64_t seed = test_seed(20161121);
    INFO("CHAINBASE_TEST_SEED=" << seed);
    random_numbers random(seed);
    const std::vector<block> blocks = sample_blocks(40, seed);
    int made = 0;
    for (int round = 0; round < 5'000; ++round) {
        const std::size_t from = random.below(30);
        const std::size_t length = random.between(1, 9);
        const std::size_t more = random.below(2);
        const auto main = std::span(blocks).subspan(from, length + more);
        const auto one = make_branch(blocks[from].number - 1, main, length, random);
        if (!one) continue;
        ++made;
        check_dealt(*one, main, length);
    }
    CHECK(made > 2'500);
}

TEST_CASE("where nothing can come early there is no branch") {
    random_numbers random(1);
    const std::vector<block> idle{{5, 15, {}}, {6, 18, {}}};
    CHECK_FALSE(make_branch(4, idle, 1, random));
    const std::vector<block> last{{5, 15, {{{bytes{std::byte{1}}}}}}, {6, 18, {}}};
    for (int round = 0; round < 50; ++round)
        CHECK_FALSE(make_branch(4, last, 1, random));
    const std::vector<block> next{last[0], {6, 18, {{{bytes{std::byte{2}}}}}}};
    for (int round = 0; round < 50; ++round) {
        const auto one = make_branch(4, next, 1, random);
        REQUIRE(one);
        check_dealt(*one, next, 1);
    }
}

TEST_CASE("branches of generated chains are valid, and bad ones end with what is refused") {
    const captured_log quiet;
    const std::string chain = GENERATE("social", "payments");
    generate::chain_options options = social_chain(20'000, test_seed(4));
    INFO("CHAINBASE_TEST_SEED=" << options.seed);
    options.chain = chain;
    options.cash_out_percent = 1;
    const generated_log log(options, {.percent = 40, .depth = 12, .bad_percent = 25});
    const auto all =
        apply_all(log.path(), generate::forks_path(log.path()), log.folder / "state", 12);
    CHECK(all.good + all.bad == log.report.forks.branches);
    CHECK(all.bad == log.report.forks.bad_branches);
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
    CHECK(all.good + all.bad == made.forks.branches);
    CHECK(all.bad == made.forks.bad_branches);
    CHECK(all.bad > 0);
}

TEST_CASE("the same seed deals the same branches, which another one does not") {
    const captured_log quiet;
    const generate::fork_options forks{.percent = 20, .depth = 6, .bad_percent = 20};
    const auto content = [&](std::uint64_t seed) {
        const generated_log log(social_chain(5'000, seed), forks);
        return test::read_file(generate::forks_path(log.path()));
    };
    const std::string one = content(1);
    CHECK(one == content(1));
    CHECK(one != content(2));
}
