#include <tools/chains/checked.hpp>

#include <catch2/catch.hpp>
#include <tests/support/random_source.hpp>
#include <tests/tools/live_support.hpp>

#include <map>

/// A node with pending transactions and forks beside one that sees the blocks alone.
using namespace chainbase;
using namespace chainbase::test;
using driver::live::made_block;
using payments::payment;

namespace {

struct story {
    random_source random;
    payments_node node;
    payments_node plain; ///< blocks and pops only
    std::vector<std::shared_ptr<const decoded_block>> blocks;
    std::map<std::uint64_t, payments::operation> known{}; ///< by checksum

    payments::operation some_payment() {
        static const char* const names[] = {"alice", "bob", "carol"};
        const std::uint32_t from = random.below(3);
        const std::int64_t amount = 1 + random.below(40);
        return payment{names[from], names[(from + 1 + random.below(2)) % 3], amount};
    }
    void send() {
        std::vector<payments::operation> some;
        for (std::uint32_t i = random.below(8); i > 0; --i)
            some.push_back(some_payment());
        const auto as_block = node.decoded(some);
        for (std::size_t i = 0; i < some.size(); ++i)
            known.emplace(as_block->checksum_of(i), some[i]);
        node.send(some);
    }
    /// Of payments that are pending and others; it may be bad.
    void block_from_outside() {
        std::vector<payments::operation> some;
        for (const auto& one : node.node.pending().those_waiting())
            if (random.below(3) == 0)
                some.push_back(
                    known.at(node.node.pending().block_of(one).checksum_of(one.transaction)));
        for (std::uint32_t i = random.below(3); i > 0; --i)
            some.push_back(some_payment());
        const auto next = node.decoded(some);
        for (std::size_t i = 0; i < some.size(); ++i)
            known.emplace(next->checksum_of(i), some[i]); // popped, they are pending
        try {
            plain.state.apply(*next);
        } catch (const rejected_error&) {
            CHECK_THROWS_AS(node.node.apply(*next), rejected_error);
            return;
        }
        node.node.apply(*next);
        blocks.push_back(next);
    }
    void own_block() {
        const block frame = node.made({});
        const made_block made = node.node.make_block(frame.timestamp);
        std::vector<payments::operation> some;
        for (const std::uint64_t checksum : made.checksums)
            some.push_back(known.at(checksum));
        blocks.push_back(plain.decoded(some));
        plain.state.apply(*blocks.back());
    }
    void pop() {
        if (node.state.head() <= std::max<std::uint64_t>(node.state.irreversible(), 1)) return;
        node.node.pop(blocks.back());
        plain.state.pop();
        blocks.pop_back();
    }
    void step() {
        switch (random.below(6)) {
        case 0:
            return block_from_outside();
        case 1:
            return own_block();
        case 2:
            return pop();
        case 3:
            return send();
        default:
            node.node.work(driver::live::clock::now() + std::chrono::hours(random.below(2)));
        }
    }
};

} // namespace

TEST_CASE("random arrivals, blocks from outside and own ones, and pops agree with blocks alone") {
    const std::uint64_t seed = test_seed(41);
    INFO("CHAINBASE_TEST_SEED=" << seed);
    story all{random_source(seed), payments_node(6, {{3}, 100, 20}), payments_node(6), {}};
    for (int i = 0; i < 1500; ++i) {
        all.step();
        if (all.node.state.has_pending()) continue;
        REQUIRE(all.node.digest() == all.plain.digest());
    }
    all.node.node.drop();
    CHECK(all.node.digest() == all.plain.digest());
    all.node.state.model().check();
    if (is_usual_run()) {
        CHECK(all.node.node.figures().returned > 0);
        CHECK(all.node.node.figures().rejected > 0);
        CHECK(all.node.node.figures().included > 0);
    }
}
