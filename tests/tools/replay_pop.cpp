#include <pool_allocator/error.hpp>
#include <tools/driver/chain_state.hpp>

#include <catch2/catch.hpp>
#include <tests/support/random_source.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/real_logs.hpp>

#include <deque>

/// Blocks are popped and applied again, as in a fork, also across hand-overs to the archive.
using namespace chainbase;
using namespace chainbase::test;
using driver::chain_state;

namespace {

constexpr std::int64_t lag = 20;

std::int64_t archived(const chain_state& state) {
    std::int64_t sum = 0;
    for (const auto& [type, objects] : state.model().archived())
        sum += objects;
    return sum;
}

/// Applies the whole log, and every now and then, and after every other block in which objects left
/// memory, pops some blocks and applies them again. Returns how often objects came back.
int apply_with_pops(chain_state& state, const real_log& log, random_source& random) {
    int came_back = 0;
    std::deque<block> last;
    block_log_stream blocks = block_log_reader(log.path()).stream();
    while (auto next = blocks.next()) {
        const std::int64_t archived_before = archived(state);
        state.apply(*next);
        const bool some_left = archived(state) > archived_before;
        last.push_back(std::move(*next));
        if (last.size() > lag) last.pop_front();
        if (random.below(some_left ? 2 : 200) != 0) continue;
        const std::size_t popped = 1 + random.below(static_cast<std::uint32_t>(last.size()));
        const std::int64_t before = archived(state);
        for (std::size_t i = 0; i < popped; ++i)
            state.pop();
        came_back += archived(state) < before ? 1 : 0;
        for (std::size_t i = last.size() - popped; i < last.size(); ++i)
            state.apply(last[i]);
    }
    return came_back;
}

} // namespace

TEST_CASE("popping blocks and applying them again leads to the same state") {
    const std::string chain = GENERATE("steem-2016", "eos-swap-2022");
    const captured_log quiet;
    const std::uint64_t seed = test_seed(6);
    INFO("CHAINBASE_TEST_SEED=" << seed);
    random_source random(seed);
    const real_log log(chain);
    chain_state state(log.state(), chain, lag);
    const int came_back = apply_with_pops(state, log, random);
    if (chain == "steem-2016") CHECK(came_back > 0);
    CHECK(state.model().state_digest() == digest_at_end(chain));
    state.model().check();
    CHECK(state.model().verify().problem_count == 0);
    state.finish();
    CHECK(state.model().state_digest() == digest_at_end(chain));
    CHECK(state.model().verify().problem_count == 0);
    CHECK(state.irreversible() == state.head());
    CHECK_THROWS_AS(state.pop(), usage_error);
}

TEST_CASE("reversible blocks can be popped after the state was closed and opened") {
    const captured_log quiet;
    const real_log log("steem-2016");
    std::vector<block> blocks;
    block_log_stream stream = block_log_reader(log.path()).stream();
    while (blocks.size() < 120)
        blocks.push_back(*stream.next());
    std::string at_101;
    {
        chain_state state(log.state(), log.chain(), lag);
        for (const block& one : blocks) {
            state.apply(one);
            if (state.blocks() == 101) at_101 = state.model().state_digest();
        }
    }
    chain_state state(log.state(), log.chain(), lag);
    CHECK(state.irreversible() == 100);
    for (int i = 0; i < 19; ++i)
        state.pop();
    CHECK(state.head() == 101);
    CHECK(state.model().state_digest() == at_101);
    state.pop();
    CHECK_THROWS_AS(state.pop(), usage_error);
    CHECK(state.head() == 100);
    CHECK(state.irreversible() == 100);
}
