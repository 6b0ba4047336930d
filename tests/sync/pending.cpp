/// Pending transactions, and the effect of blocks and pops on them.

#include <tools/chains/checked.hpp>

#include <catch2/catch.hpp>
#include <tests/sync/payments_chains.hpp>

#include <map>

using namespace chainbase;
using namespace chainbase::test;
using driver::live::made_block;
using payments::payment;

TEST_CASE("what arrives is applied over the head, and leaves with the block that holds it") {
    payments_node chain;
    chain.send({payment{"alice", "bob", 30}, payment{"bob", "carol", 40}});
    chain.work();
    CHECK(chain.node.pending().applied() == 2);
    CHECK(chain.balance("carol") == 40);
    chain.node.apply(*chain.decoded({payment{"alice", "bob", 30}}));
    CHECK(chain.balance("carol") == 0);
    CHECK(chain.balance("bob") == 40);
    CHECK(chain.node.figures().included == 1);
    CHECK(chain.node.pending().waiting() == 1);
    chain.work();
    CHECK(chain.balance("carol") == 40);
    CHECK(chain.node.figures().applied == 3);
    chain.node.drop();
    CHECK(chain.balance("carol") == 0);
    CHECK(chain.node.pending().waiting() == 1);
}

TEST_CASE("a pending transaction that a block makes invalid is rejected, counted and forgotten") {
    payments_node chain, plain;
    chain.send({payment{"alice", "bob", 90}, payment{"alice", "bob", 5}});
    chain.work();
    chain.node.apply(*chain.decoded({payment{"alice", "carol", 50}}));
    plain.state.apply(plain.made({payment{"alice", "carol", 50}}));
    CHECK(chain.digest() == plain.digest());
    chain.work();
    CHECK(chain.node.figures().rejected == 1);
    CHECK(chain.node.pending().applied() == 1);
    CHECK(chain.balance("bob") == 15);
    chain.node.drop();
    CHECK(chain.digest() == plain.digest());
}

TEST_CASE("a transaction that arrived twice leaves as often as a block holds it") {
    const payment one{"alice", "bob", 10};
    payments_node chain;
    chain.send({one, one, payment{"alice", "carol", 1}, one});
    chain.work();
    chain.node.apply(*chain.decoded({one}));
    CHECK(chain.node.pending().size() == 3);
    chain.node.apply(*chain.decoded({one, one, one}));
    CHECK(chain.node.pending().size() == 1);
    CHECK(chain.node.figures().included == 3);
}

TEST_CASE("without time nothing is applied, and all of it waits for the next round") {
    payments_node chain;
    const std::string before = chain.digest();
    chain.send({payment{"alice", "bob", 1}, payment{"alice", "bob", 2}});
    chain.node.work(driver::live::clock::now() - std::chrono::seconds(1));
    CHECK(chain.node.pending().waiting() == 2);
    CHECK(chain.node.figures().lock.acquisitions == 0);
    CHECK(chain.digest() == before);
    chain.work();
    CHECK(chain.node.pending().applied() == 2);
}

TEST_CASE("the lock is taken once for each batch") {
    const auto [batch, acquisitions] =
        GENERATE(table<std::size_t, std::uint64_t>({{1, 10}, {4, 3}, {10, 1}, {1000, 1}}));
    payments_node chain(10, {{batch, std::chrono::hours(1)}});
    chain.send(std::vector<payments::operation>(10, payment{"alice", "bob", 1}));
    chain.work();
    CHECK(chain.node.pending().applied() == 10);
    CHECK(chain.node.figures().lock.acquisitions == acquisitions);
}

TEST_CASE("what no block ever holds is forgotten, and what there is no room for is refused") {
    payments_node chain(10, {{}, 5, 3});
    chain.send(std::vector<payments::operation>(5, payment{"alice", "bob", 1}));
    chain.work();
    chain.send({payment{"alice", "bob", 2}});
    chain.work();
    CHECK(chain.node.pending().size() == 5);
    CHECK(chain.queue.waiting() == 1);
    chain.send(std::vector<payments::operation>(1000, payment{"alice", "bob", 3}));
    CHECK(chain.queue.refused() == 1000);
    for (int i = 0; i < 2; ++i)
        chain.node.apply(*chain.decoded({}));
    CHECK(chain.node.pending().size() == 5);
    chain.node.apply(*chain.decoded({}));
    CHECK(chain.node.pending().size() == 0);
    CHECK(chain.node.figures().forgotten == 5);
    chain.work();
    CHECK(chain.node.pending().size() == 1);
}

TEST_CASE("a block that is made of pending transactions is as one from outside") {
    payments_node chain, plain;
    chain.send({payment{"alice", "bob", 60}, payment{"alice", "bob", 60},
                payments::account_create{"dave", 7}, payment{"bob", "dave", 1}});
    chain.work();
    const made_block made = chain.node.make_block(1001);
    CHECK(made.number == 2);
    CHECK(made.included.size() == 3);
    CHECK(made.checksums.size() == 3);
    CHECK(made.rejected == 0);
    CHECK(chain.node.pending().size() == 0);
    plain.state.apply(plain.made({payment{"alice", "bob", 60}, payments::account_create{"dave", 7},
                                  payment{"bob", "dave", 1}}));
    CHECK(chain.digest() == plain.digest());
    CHECK(chain.state.operations() == plain.state.operations());
    CHECK(chain.state.blocks() == plain.state.blocks());
    chain.state.pop();
    plain.state.pop();
    CHECK(chain.digest() == plain.digest());
}

TEST_CASE("the transactions of a block that is popped wait again, before all others") {
    payments_node chain;
    const std::string before = chain.digest();
    const auto last = chain.decoded({payment{"alice", "carol", 100}});
    chain.node.apply(*last);
    chain.send({payment{"carol", "bob", 100}});
    chain.work();
    REQUIRE(chain.node.pending().applied() == 1);
    chain.node.pop(last);
    CHECK(chain.digest() == before);
    CHECK(chain.node.pending().waiting() == 2);
    chain.work();
    CHECK(chain.node.pending().applied() == 2);
    CHECK(chain.balance("bob") == 110);
    chain.node.apply(*chain.decoded({payment{"bob", "alice", 10}}));
    CHECK(chain.balance("alice") == 110);
    CHECK_THROWS_WITH(chain.node.pop(last->number() == 2 ? chain.decoded({}) : last),
                      Catch::Contains("pop from the head down"));
}

TEST_CASE("a block that is rejected changes nothing, and all waits again") {
    payments_node chain;
    const std::string before = chain.digest();
    chain.send({payment{"alice", "bob", 1}});
    chain.work();
    CHECK_THROWS_AS(chain.node.apply(*chain.decoded({payment{"alice", "bob", 1000}})),
                    rejected_error);
    CHECK(chain.digest() == before);
    CHECK(chain.node.pending().waiting() == 1);
    CHECK_THROWS_AS(chain.node.make_block(0), rejected_error); // time does not go back
    CHECK(chain.node.pending().waiting() == 1);
    chain.work();
    CHECK(chain.node.make_block(2000).included.size() == 1);
}

namespace {

/// A node with pending transactions and forks beside one that sees the blocks alone.
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
    CHECK(all.node.node.figures().returned > 0);
    CHECK(all.node.node.figures().rejected > 0);
    CHECK(all.node.node.figures().included > 0);
}
