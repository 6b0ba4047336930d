#include <tools/chains/checked.hpp>
#include <tools/chains/payments/operations.hpp>

#include <catch2/catch.hpp>
#include <tests/support/random_source.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/small_chain.hpp>

#include <map>

/// The rules of the payments chain, and transactions that are in no block yet.
using namespace chainbase;
using namespace chainbase::test;

namespace {

struct payments_chain : small_chain {
    captured_log quiet;

    explicit payments_chain(std::int64_t lag = 0) : small_chain("payments", lag) {
        next(payments::account_create{"alice", 100}, payments::account_create{"bob", 10});
    }

    template <typename... Operations>
    void next(const Operations&... operations) {
        block one{state.head() + 1, 1000, {}};
        (one.transactions.push_back({{payments::encode(operations)}}), ...);
        state.apply(one);
    }
    [[nodiscard]] std::shared_ptr<const decoded_block>
    decoded(const std::vector<payments::operation>& operations) const {
        block one{1, 0, {}};
        for (const auto& op : operations)
            one.transactions.push_back({{payments::encode(op)}});
        return decoder_of("payments")(encode_block(one));
    }
};

} // namespace

TEST_CASE("payments move money and keep its sum") {
    payments_chain chain;
    chain.next(payments::payment{"alice", "bob", 30}, payments::payment{"bob", "alice", 40});
    CHECK(chain.oracle("payments") == 2);
    CHECK(chain.oracle("issued") == 110);
    CHECK_NOTHROW(chain.state.model().check());
    CHECK(chain.state.model().verify().problem_count == 0);
}

TEST_CASE("a payment that breaks a rule is refused, and its block with it") {
    payments_chain chain;
    const std::string before = chain.state.model().state_digest();
    const auto refused = [&](const payments::operation& op, const char* why) {
        CHECK_THROWS_WITH(chain.next(payments::payment{"alice", "bob", 1}, op),
                          Catch::Matchers::Contains(why) &&
                              Catch::Matchers::Contains("transaction 2 of 2"));
        CHECK(chain.state.model().state_digest() == before);
    };
    refused(payments::payment{"alice", "bob", 100}, "has the money (alice)");
    refused(payments::payment{"alice", "bob", 0}, "above 0");
    refused(payments::payment{"alice", "bob", -1}, "above 0");
    refused(payments::payment{"alice", "alice", 1}, "another account");
    refused(payments::payment{"carol", "bob", 1}, "carol");
    refused(payments::payment{"bob", "carol", 1}, "carol");
    refused(payments::account_create{"bob", 1}, "taken");
    refused(payments::account_create{"", 1}, "has a name");
    refused(payments::account_create{"carol", -1}, "not negative");
    refused(payments::account_create{"carol", INT64_MAX}, "exceed its range");
}

TEST_CASE("pending transactions are seen, may be rejected one by one, and go without a trace") {
    payments_chain chain(5);
    const std::string before = chain.state.model().state_digest();
    const auto waiting =
        chain.decoded({payments::payment{"alice", "bob", 90}, payments::payment{"alice", "bob", 20},
                       payments::account_create{"carol", 5}, payments::payment{"bob", "carol", 100},
                       payments::payment{"bob", "carol", 100}});
    chain.state.begin_pending(1003);
    std::vector<bool> applied;
    for (std::size_t i = 0; i < waiting->transactions(); ++i)
        applied.push_back(!chain.state.apply_pending(*waiting, i).has_value());
    CHECK(applied == std::vector<bool>{true, false, true, true, false});
    CHECK(chain.state.has_pending());
    CHECK(chain.state.model().state_digest() != before);
    chain.state.drop_pending();
    CHECK(chain.state.model().state_digest() == before);
}

TEST_CASE("a block, a pop and closing drop pending transactions first") {
    payments_chain chain(5);
    const auto one = chain.decoded({payments::payment{"alice", "bob", 90}});
    const auto pend = [&] {
        chain.state.begin_pending(1003);
        CHECK_FALSE(chain.state.apply_pending(*one, 0));
    };
    const std::string at_1 = chain.state.model().state_digest();
    pend();
    chain.next(payments::payment{"alice", "bob", 100});
    CHECK_FALSE(chain.state.has_pending());
    const std::string at_2 = chain.state.model().state_digest();
    chain.next(payments::payment{"bob", "alice", 100});
    pend();
    chain.state.pop();
    CHECK(chain.state.model().state_digest() == at_2);
    chain.next(payments::payment{"bob", "alice", 100});
    pend();
    CHECK(chain.state.head() == 3);
    CHECK(chain.state.blocks() == 3);
    chain.state.close();
    driver::chain_state again(chain.folder / "state", "payments", 5);
    again.pop();
    again.pop();
    CHECK(again.model().state_digest() == at_1);
}

TEST_CASE("random blocks, pops and pending transactions agree with a map of balances") {
    const std::uint64_t seed = test_seed(31);
    INFO("CHAINBASE_TEST_SEED=" << seed);
    random_source random(seed);
    payments_chain chain(8);
    using balances = std::map<std::string, std::int64_t>;
    std::vector<balances> at{{{"alice", 100}, {"bob", 10}}}; // after each block
    const auto some_payment = [&](balances& known) {
        const bool from_alice = random.below(2) == 0;
        const char* from = from_alice ? "alice" : "bob";
        const char* to = from_alice ? "bob" : "alice";
        const std::int64_t amount = 1 + random.below(60);
        const bool fits = known[from] >= amount;
        if (fits) known[from] -= amount, known[to] += amount;
        return std::pair(payments::payment{from, to, amount}, fits);
    };
    for (int step = 0; step < 2000; ++step) {
        switch (random.below(4)) {
        case 0: {
            balances known = at.back();
            const auto [op, fits] = some_payment(known);
            if (fits) {
                chain.next(op);
                at.push_back(known);
            } else {
                CHECK_THROWS_AS(chain.next(op), rejected_error);
            }
            break;
        }
        case 1:
            if (chain.state.head() > std::max<std::uint64_t>(chain.state.irreversible(), 1)) {
                chain.state.pop();
                at.pop_back();
            }
            break;
        default: {
            balances known = at.back();
            chain.state.drop_pending();
            chain.state.begin_pending(1000);
            for (std::uint32_t i = random.below(8); i > 0; --i) {
                const auto [op, fits] = some_payment(known);
                CHECK(chain.state.apply_pending(*chain.decoded({op}), 0).has_value() != fits);
            }
        }
        }
        REQUIRE(chain.state.head() == at.size());
    }
    chain.state.drop_pending();
    chain.state.model().check();
    CHECK(chain.oracle("payments") <= 2000);
}
