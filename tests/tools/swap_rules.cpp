#include <tools/chains/checked.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/packed_tables.hpp>
#include <tests/tools/small_chain.hpp>

/// The rules of the swap chain, one by one.
using namespace chainbase;
using namespace chainbase::test;

namespace {

const captured_log quiet;

swap::asset eos(std::int64_t amount) {
    return {amount, 4, "EOS"};
}
swap::asset box(std::int64_t amount) {
    return {amount, 6, "BOX"};
}

struct swap_chain : small_chain {
    swap_chain() : small_chain("eos-swap-2022") {
        next(exchange("alice", 7, eos(5000), box(10), eos(100'000), box(1000)));
    }
    void next(const swap::swap& op) { state.apply(block_of(state.head() + 1, 1000, op)); }
    [[nodiscard]] std::string rejects(const swap::swap& op) {
        const std::string before = state.model().state_digest();
        const std::string why = message_of<rejected_error>([&] { next(op); });
        CHECK(state.model().state_digest() == before);
        return why;
    }
};

bool says(const std::string& text, std::string_view part) {
    INFO(text);
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("reserves follow from the swap, in either direction, or are counted and taken") {
    swap_chain chain;
    CHECK(chain.oracle("first_of_pair") == 1);
    CHECK(chain.oracle("out_exact") + chain.oracle("out_other") == 0);
    chain.next(exchange("bob", 7, eos(3000), box(20), eos(102'997), box(980))); // 3 of 3000 is fee
    CHECK(chain.oracle("out_exact") == 1);
    CHECK(chain.oracle("in_exact") == 1);
    chain.next(
        exchange("bob", 7, box(999), eos(997), eos(102'000), box(1979))); // no fee below 1000
    CHECK(chain.oracle("out_exact") == 2);
    CHECK(chain.oracle("in_exact") == 2);
    chain.next(
        exchange("bob", 7, box(10), eos(10), eos(50'000), box(5000))); // a withdrawal between
    CHECK(chain.oracle("out_other") == 1);
    CHECK(chain.oracle("in_other") == 1);
    chain.next(
        exchange("bob", 7, box(10), eos(10), eos(49'990), box(5010))); // from the logged ones
    CHECK(chain.oracle("out_exact") == 3);
    CHECK(chain.oracle("in_exact") == 3);
    chain.state.model().check();
    CHECK(chain.state.model().verify().problem_count == 0);
}

TEST_CASE("what is no swap of the pair is refused by the rule") {
    swap_chain chain;
    const swap::asset other{5, 4, "ABC"};
    CHECK(says(chain.rejects(exchange("a", 7, other, box(1), eos(1), box(1))),
               "of the pair (pair 7)"));
    CHECK(says(chain.rejects(exchange("a", 7, eos(1), other, eos(1), box(1))), "other token"));
    CHECK(says(chain.rejects(exchange("a", 7, eos(1), eos(1), eos(1), eos(1))), "two tokens"));
    CHECK(says(chain.rejects(exchange("a", 7, eos(-1), box(1), eos(1), box(1))), "not negative"));
    CHECK(says(chain.rejects(exchange("a", 7, eos(1), other, eos(1), other)), "keeps its tokens"));
    CHECK(
        says(chain.rejects(exchange("a", 7, box(1), eos(1), box(1), eos(1))), "keeps its tokens"));
    CHECK(says(chain.rejects(exchange("", 7, eos(1), box(1), eos(1), box(1))), "has a name"));
}

TEST_CASE("amounts at the end of the range do not overflow") {
    swap_chain chain;
    constexpr std::int64_t most = INT64_MAX;
    chain.next(exchange("bob", 7, eos(most), box(0), eos(most), box(1000)));
    chain.next(exchange("bob", 7, eos(most), box(1000), eos(most), box(0)));
    CHECK(chain.oracle("in_other") == 2);
    CHECK(chain.oracle("out_exact") == 2);
}
