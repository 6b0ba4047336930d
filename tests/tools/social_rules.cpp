#include <tools/chains/checked.hpp>
#include <tools/chains/social/rules.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/packed_tables.hpp>
#include <tests/tools/small_chain.hpp>

/// The rules of the social chain, one by one.
using namespace chainbase;
using namespace chainbase::test;

namespace {

const captured_log quiet;

struct social_chain : small_chain {
    explicit social_chain(std::int64_t lag = 0) : small_chain("steem-2016", lag) {
        next(account("alice"), account("bob"), account("carol"));
    }

    /// Applies a block three seconds after the one before.
    template <typename... Operations>
    void next(const Operations&... operations) {
        state.apply(block_of(number + 1, time + 3, operations...));
        ++number;
        time += 3;
    }
    /// The rule that a block with this operation breaks; the state must stay as it is.
    template <typename Operation>
    [[nodiscard]] std::string rejects(const Operation& operation) {
        const std::string before = state.model().state_digest();
        const std::string why =
            message_of<rejected_error>([&] { next(account("dave"), operation); });
        CHECK(state.model().state_digest() == before);
        CHECK(state.head() == number);
        return why;
    }

    std::uint64_t number = 0;
    std::int64_t time = 1000;
};

bool says(const std::string& text, std::string_view part) {
    INFO(text);
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("the voters' part is shared by positive rshares, rounded down, the rest to the author") {
    social_chain chain;
    chain.next(post("alice", "one", chain.time + 9, 1000, 100));
    chain.next(vote("bob", "alice", "one", 2), vote("carol", "alice", "one", 1));
    CHECK(chain.oracle("sum_of_balances") == 0);
    chain.next(); // at the cash-out time: 66 and 33 of 100, 1 to the author
    CHECK(chain.oracle("paid_posts") == 1);
    CHECK(chain.oracle("author_paid") == 1000);
    CHECK(chain.oracle("curator_paid") == 100);
    CHECK(chain.oracle("curator_remainder_to_author") == 1);
    CHECK(chain.oracle("unassigned") == 0);
    CHECK(chain.oracle("votes_on_paid") == 2);
    CHECK(chain.oracle("sum_of_balances") == 1100);
    chain.state.model().check();
    chain.state.finish();
    CHECK(chain.archived() == 1);
    CHECK(chain.state.model().verify().problem_count == 0);
}

TEST_CASE("votes against a post take nothing, and without a positive one nothing is assigned") {
    social_chain chain;
    chain.next(post("alice", "one", chain.time + 9, 1000, 100));
    chain.next(vote("bob", "alice", "one", -5), vote("carol", "alice", "one", 0));
    chain.next();
    CHECK(chain.oracle("author_paid") == 1000);
    CHECK(chain.oracle("curator_paid") == 0);
    CHECK(chain.oracle("unassigned") == 100);
    CHECK(chain.oracle("sum_of_balances") == 1000);
}

TEST_CASE("shares are exact at the ends of the range") {
    constexpr std::int64_t most = INT64_MAX;
    social::curation shares(most);
    for (int i = 0; i < 3; ++i)
        shares.add(most);
    shares.add(-most);
    CHECK(shares.share(most) == most / 3);
    CHECK(shares.share(-most) == 0);
    CHECK(shares.share(most) == most / 3);
    CHECK(shares.share(most) == most / 3);
    CHECK(shares.left() == most % 3);
    CHECK_FALSE(social::curation(5).has_curators());
}

TEST_CASE("a comment that is due is paid before the block's operations") {
    social_chain chain;
    chain.next(post("alice", "one", chain.time + 6, 10, 0));
    CHECK(says(chain.rejects(vote("bob", "alice", "one", 1)), "a vote comes before the payout"));
    chain.next();
    chain.state.finish();
    CHECK(chain.archived() == 1);
    CHECK(says(chain.rejects(vote("bob", "alice", "one", 1)), "a vote comes before the payout"));
    CHECK(says(chain.rejects(post("alice", "one")), "has a comment with this permlink"));
    chain.next(reply("bob", "re", "alice", "one")); // a paid parent stays as it is
}

TEST_CASE("what breaks a rule is refused by its name") {
    social_chain chain;
    chain.next(post("alice", "one"));
    chain.next(vote("bob", "alice", "one", 1));
    CHECK(says(chain.rejects(account("alice")), "(\"alice\") is taken"));
    CHECK(says(chain.rejects(account("")), "an account has a name"));
    CHECK(says(chain.rejects(post("nobody", "x")), "\"nobody\""));
    CHECK(says(chain.rejects(post("alice", "")), "a permlink has 1 to 256 bytes"));
    CHECK(says(chain.rejects(post("alice", std::string(257, 'x').c_str())), "1 to 256 bytes"));
    CHECK(says(chain.rejects(post("alice", "one")), "comment with this permlink (alice/one)"));
    CHECK(says(chain.rejects(post("alice", "x", chain.time + 3, 1)), "a cash-out is after"));
    CHECK(says(chain.rejects(post("alice", "x", chain.time + 9, -1)), "is not negative"));
    CHECK(says(chain.rejects(post("alice", "x", 0, 1)), "without a cash-out nothing is paid"));
    CHECK(says(chain.rejects(post("alice", "x", chain.time + 9, INT64_MAX, 1)), "its range"));
    CHECK(says(chain.rejects(vote("bob", "alice", "two", 1)), "a comment that exists (alice/two)"));
    CHECK(says(chain.rejects(vote("nobody", "alice", "one", 1)), "\"nobody\""));
    CHECK(says(chain.rejects(vote("bob", "alice", "one", 1)), "is taken by object 0"));
    CHECK(says(chain.rejects(vote("carol", "alice", "one", INT64_MAX)), "its range"));
    CHECK(says(chain.rejects(vote("carol", "alice", "one", 1, 10001)), "100 percent"));
    CHECK(says(chain.rejects(social::custom{"alice", std::string(33, 'x'), {}}), "32 bytes"));
    CHECK(says(chain.rejects(social::custom{"nobody", "x", {}}), "\"nobody\""));
    chain.next(social::custom{"alice", "x", {}}, reply("bob", "re", "alice", "one"),
               reply("bob", "re-unknown", "somebody", "else"));
}

TEST_CASE("a comment that nobody answered or voted for is deleted, and its permlink is free") {
    social_chain chain;
    const auto deletion = [](const char* permlink) {
        return social::operation(social::comment_delete{"alice", permlink});
    };
    chain.next(post("alice", "one"), reply("alice", "re", "alice", "one"), post("alice", "two"),
               vote("bob", "alice", "two", 5), vote("carol", "alice", "re", -5));
    CHECK(says(chain.rejects(deletion("none")), "a comment that exists (alice/none)"));
    CHECK(says(chain.rejects(deletion("one")), "a comment with replies stays (alice/one)"));
    CHECK(says(chain.rejects(deletion("two")), "stays until it is paid (alice/two)"));
    chain.next(deletion("re"));
    chain.next(deletion("one")); // its only reply is gone
    CHECK(says(chain.rejects(vote("bob", "alice", "re", 1)), "a comment that exists"));
    CHECK(chain.state.model().verify().problem_count == 0);
    CHECK(chain.state.model().verify().objects == 1);
    chain.next(post("alice", "re"), vote("carol", "alice", "re", 1)); // the old vote went, too
}

TEST_CASE("a parent that is not paid counts no reply that was paid and deleted") {
    social_chain chain;
    social::comment paid = reply("bob", "re", "alice", "one");
    paid.cashout_time = chain.time + 6;
    chain.next(post("alice", "one"), paid);
    chain.next();
    chain.state.finish();
    CHECK(chain.archived() == 1);
    chain.next(social::operation(social::comment_delete{"bob", "re"}));
    chain.next(social::operation(social::comment_delete{"alice", "one"}));
    CHECK(chain.state.model().verify().objects == 0);
}

TEST_CASE("a comment that was paid is deleted wherever it is, and what was paid stays") {
    social_chain chain(2);
    const bool is_archived = GENERATE(true, false);
    chain.next(post("alice", "one", chain.time + 6, 10), reply("bob", "re", "alice", "one"),
               post("alice", "two", chain.time + 6, 10), vote("bob", "alice", "two", 1));
    chain.next();
    if (is_archived) chain.state.finish();
    CHECK(chain.archived() == (is_archived ? 2 : 0));
    const auto deletion = [](const char* permlink) {
        return social::operation(social::comment_delete{"alice", permlink});
    };
    CHECK(says(chain.rejects(deletion("one")), "a comment with replies stays"));
    const std::string before = chain.state.model().state_digest();
    chain.next(deletion("two"));
    CHECK(chain.archived() == (is_archived ? 1 : 0));
    CHECK(chain.oracle("sum_of_balances") == 20);
    CHECK(says(chain.rejects(deletion("two")), "a comment that exists"));
    chain.next(post("alice", "two", chain.time + 6, 7));
    chain.state.pop();
    chain.state.pop();
    CHECK(chain.state.model().state_digest() == before);
    chain.number -= 2;
    chain.next(deletion("two"));
    chain.next(post("alice", "two", chain.time + 6, 7));
    chain.next();
    chain.state.finish();
    CHECK(chain.oracle("sum_of_balances") == 27);
    CHECK(chain.archived() == 2);
    CHECK(chain.state.model().verify().problem_count == 0);
}

TEST_CASE("all money that accounts are given fits, whatever a log says") {
    social_chain chain;
    chain.next(social::operation(social::deposit{"alice", INT64_MAX - 10}));
    const auto deposit = [](std::int64_t amount) {
        return social::operation(social::deposit{"bob", amount});
    };
    CHECK(says(chain.rejects(deposit(11)), "what was deposited would exceed its range"));
    chain.next(deposit(2), post("bob", "one", chain.time + 6, 8),
               post("bob", "two", chain.time + 12, 1));
    chain.next();
    CHECK_NOTHROW(chain.state.model().check());
    CHECK(chain.oracle("sum_of_balances") == INT64_MAX);
    CHECK(says(chain.rejects(deposit(1)), "the money of all accounts would exceed its range"));
    chain.next();
    CHECK(says(message_of<rejected_error>([&] { chain.next(); }), "the money of all accounts"));
}

TEST_CASE("numbers of 128 bits are shown whole") {
    CHECK(to_string(int128{0}) == "0");
    CHECK(to_string(int128{-17}) == "-17");
    CHECK(to_string(2 * int128{INT64_MIN}) == "-18446744073709551616");
    CHECK(to_string(-4 * int128{INT64_MIN}) == "36893488147419103232");
}

TEST_CASE("blocks come in order") {
    social_chain chain;
    const auto number_again = block_of(1, chain.time + 3);
    const auto time_again = block_of(2, chain.time);
    CHECK_THROWS_AS(chain.state.apply(number_again), rejected_error);
    CHECK_THROWS_AS(chain.state.apply(time_again), rejected_error);
    CHECK(chain.state.head() == 1);
}

TEST_CASE("a payout is undone with its block, and its comment can be voted on again") {
    social_chain chain(5);
    chain.next(post("alice", "one", chain.time + 6, 10, 3));
    const std::string before = chain.state.model().state_digest();
    chain.next();
    CHECK(chain.oracle("paid_posts") == 1);
    chain.state.pop();
    CHECK(chain.oracle("paid_posts") == 0);
    CHECK(chain.oracle("sum_of_balances") == 0);
    CHECK(chain.state.model().state_digest() == before);
}
