#include <tools/chains/checked.hpp>
#include <tools/chains/payments/operations.hpp>
#include <tools/chains/social/rules.hpp>
#include <tools/driver/block_feed.hpp>

#include <catch2/catch.hpp>
#include <tests/support/captured_log.hpp>
#include <tests/support/property.hpp>
#include <tests/tools/forged_block.hpp>
#include <tests/tools/small_chain.hpp>

#include <chrono>
#include <map>
#include <new>
#include <thread>

/// The rules of the chains, one by one; pending transactions; accepted and refused encodings, and
/// the feed of decoded blocks.
using namespace chainbase;
using namespace chainbase::test;
using Catch::Contains;

namespace {

/// A chain to which a test applies blocks, three seconds apart.
struct tested_chain : small_chain {
    captured_log quiet;
    std::uint64_t number = 0;
    std::int64_t time = 1000;

    using small_chain::small_chain;

    template <typename... Operations>
    void next(const Operations&... operations) {
        state.apply(block_of(number + 1, time + 3, operations...));
        ++number;
        time += 3;
    }
    void pop() {
        state.pop();
        --number;
        time -= 3;
    }
    [[nodiscard]] std::string digest() const { return state.model().state_digest(); }

    /// A block with these operations breaks a rule in the last one; the state stays as it is.
    template <typename... Operations>
    void rejects(const char* why, const Operations&... operations) {
        const std::string before = digest();
        CHECK_THROWS_WITH(next(operations...),
                          Contains(why) &&
                              Contains("transaction " + std::to_string(sizeof...(operations)) +
                                       " of " + std::to_string(sizeof...(operations))));
        CHECK(digest() == before);
        CHECK(state.head() == number);
    }
    void check_oracle(const std::map<std::string, std::int64_t>& expected) const {
        for (const auto& [name, value] : expected) {
            INFO(name);
            CHECK(oracle(name) == value);
        }
        CHECK_NOTHROW(state.model().check());
        CHECK(state.model().verify().problem_count == 0);
    }
};

} // namespace

TEST_CASE("blocks come in order") {
    tested_chain chain("steem-2016");
    chain.next(account("alice"));
    CHECK_THROWS_AS(chain.state.apply(block_of(1, chain.time + 3)), rejected_error);
    CHECK_THROWS_AS(chain.state.apply(block_of(2, chain.time)), rejected_error);
    CHECK(chain.state.head() == 1);
}

// --- payments ---

namespace {

payments::operation payment(const char* from, const char* to, std::int64_t amount) {
    return payments::payment{from, to, amount};
}
payments::operation new_account(const char* name, std::int64_t balance) {
    return payments::account_create{name, balance};
}

struct payments_chain : tested_chain {
    explicit payments_chain(std::int64_t lag = 0) : tested_chain("payments", lag) {
        next(new_account("alice", 100), new_account("bob", 10));
    }
    /// Whether each of the operations, a transaction each, is applied as pending.
    std::vector<bool> pend(const std::vector<payments::operation>& operations) {
        block one{1, 0, {}};
        for (const auto& op : operations)
            one.transactions.push_back({{payments::encode(op)}});
        const auto waiting = decoder_of("payments")(encode_block(one));
        state.begin_pending(time + 3);
        std::vector<bool> applied;
        for (std::size_t i = 0; i < waiting->transactions(); ++i)
            applied.push_back(!state.apply_pending(*waiting, i).has_value());
        return applied;
    }
};

} // namespace

TEST_CASE("payments move money and keep its sum") {
    payments_chain chain;
    chain.next(payment("alice", "bob", 30), payment("bob", "alice", 40));
    chain.check_oracle({{"payments", 2}, {"issued", 110}});
}

TEST_CASE("a payment that breaks a rule is refused, and its block with it") {
    payments_chain chain;
    const std::vector<std::pair<const char*, payments::operation>> refused{
        {"has the money (alice)", payment("alice", "bob", 100)},
        {"above 0", payment("alice", "bob", 0)},
        {"above 0", payment("alice", "bob", -1)},
        {"another account", payment("alice", "alice", 1)},
        {"carol", payment("carol", "bob", 1)},
        {"carol", payment("bob", "carol", 1)},
        {"taken", new_account("bob", 1)},
        {"has a name", new_account("", 1)},
        {"not negative", new_account("carol", -1)},
        {"exceed its range", new_account("carol", INT64_MAX)}};
    for (const auto& [why, op] : refused)
        chain.rejects(why, payment("alice", "bob", 1), op);
}

TEST_CASE("pending transactions are seen, may be rejected one by one, and go without a trace") {
    payments_chain chain(5);
    const std::string before = chain.digest();
    CHECK(chain.pend({payment("alice", "bob", 90), payment("alice", "bob", 20),
                      new_account("carol", 5), payment("bob", "carol", 100),
                      payment("bob", "carol", 100)}) ==
          std::vector<bool>{true, false, true, true, false});
    CHECK(chain.state.has_pending());
    CHECK(chain.digest() != before);
    chain.state.drop_pending();
    CHECK(chain.digest() == before);
}

TEST_CASE("a block, a pop and closing drop pending transactions first") {
    payments_chain chain(5);
    const auto pend = [&] { CHECK(chain.pend({payment("alice", "bob", 90)}).front()); };
    const std::string at_1 = chain.digest();
    pend();
    chain.next(payment("alice", "bob", 100));
    CHECK_FALSE(chain.state.has_pending());
    const std::string at_2 = chain.digest();
    chain.next(payment("bob", "alice", 100));
    pend();
    chain.pop();
    CHECK(chain.digest() == at_2);
    chain.next(payment("bob", "alice", 100));
    pend();
    CHECK(chain.state.head() == 3);
    CHECK(chain.state.blocks() == 3);
    chain.state.close();
    driver::chain_state again(chain.folder / "state", "payments", 5);
    again.pop();
    again.pop();
    CHECK(again.model().state_digest() == at_1);
}

TEST_CASE("random blocks, pops and pending transactions agree with a list of balances") {
    struct balances {
        std::int64_t alice = 100, bob = 10;
        /// Whether the payment fits; if it does, it is made.
        bool pay(bool from_alice, std::int64_t amount) {
            std::int64_t& from = from_alice ? alice : bob;
            if (from < amount) return false;
            from -= amount;
            (from_alice ? bob : alice) += amount;
            return true;
        }
    };
    const auto op_of = [](bool from_alice, std::int64_t amount) {
        return from_alice ? payment("alice", "bob", amount) : payment("bob", "alice", amount);
    };
    using payments_of_step = std::vector<std::pair<bool, std::uint8_t>>;
    check_property(
        40, 100, [&](const std::vector<std::pair<std::uint8_t, payments_of_step>>& steps) {
            payments_chain chain(8);
            std::vector<balances> at(1); // after each block
            for (const auto& [what, payments] : steps) {
                balances known = at.back();
                if (what % 4 == 0) {
                    const bool can_pop =
                        at.size() > std::max<std::size_t>(1, chain.state.irreversible());
                    if (can_pop) chain.pop();
                    if (can_pop) at.pop_back();
                } else if (what % 4 == 1) {
                    std::vector<payments::operation> operations;
                    std::vector<bool> expected;
                    for (const auto& [from_alice, amount] : payments) {
                        operations.push_back(op_of(from_alice, 1 + amount % 60));
                        expected.push_back(known.pay(from_alice, 1 + amount % 60));
                    }
                    chain.state.drop_pending();
                    RC_ASSERT(chain.pend(operations) == expected);
                } else if (!payments.empty()) {
                    const auto [from_alice, amount] = payments.front();
                    const auto op = op_of(from_alice, 1 + amount % 60);
                    if (known.pay(from_alice, 1 + amount % 60)) {
                        chain.next(op);
                        at.push_back(known);
                    } else {
                        RC_ASSERT_THROWS_AS(chain.next(op), rejected_error);
                    }
                }
                RC_ASSERT(chain.state.head() == at.size());
            }
            chain.state.drop_pending();
            chain.state.model().check();
            RC_ASSERT(chain.oracle("payments") == static_cast<std::int64_t>(at.size()) - 1);
        });
}

// --- social ---

namespace {

/// A social chain of three accounts.
struct social_chain : tested_chain {
    explicit social_chain(std::int64_t lag = 0) : tested_chain("steem-2016", lag) {
        next(account("alice"), account("bob"), account("carol"));
    }
    using tested_chain::rejects;
    template <typename Operation>
    void rejects(const Operation& operation, const char* why) {
        tested_chain::rejects(why, account("dave"), operation);
    }
};

social::operation deletion(const char* author, const char* permlink) {
    return social::comment_delete{author, permlink};
}
social::operation deposit(const char* to, std::int64_t amount) {
    return social::deposit{to, amount};
}

} // namespace

TEST_CASE("the voters' part is shared by positive rshares, rounded down, the rest to the author") {
    social_chain chain;
    chain.next(post("alice", "one", chain.time + 9, 1000, 100));
    chain.next(vote("bob", "alice", "one", 2), vote("carol", "alice", "one", 1));
    CHECK(chain.oracle("sum_of_balances") == 0);
    chain.next(); // at the cash-out time: 66 and 33 of 100, 1 to the author
    chain.check_oracle({{"paid_posts", 1},
                        {"author_paid", 1000},
                        {"curator_paid", 100},
                        {"curator_remainder_to_author", 1},
                        {"unassigned", 0},
                        {"votes_on_paid", 2},
                        {"sum_of_balances", 1100}});
    chain.state.finish();
    CHECK(chain.archived() == 1);
    CHECK(chain.state.model().verify().problem_count == 0);
}

TEST_CASE("votes against a post take nothing, and without a positive one nothing is assigned") {
    social_chain chain;
    chain.next(post("alice", "one", chain.time + 9, 1000, 100));
    chain.next(vote("bob", "alice", "one", -5), vote("carol", "alice", "one", 0));
    chain.next();
    chain.check_oracle({{"author_paid", 1000},
                        {"curator_paid", 0},
                        {"unassigned", 100},
                        {"sum_of_balances", 1000}});
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
    chain.rejects(vote("bob", "alice", "one", 1), "a vote comes before the payout");
    chain.next();
    chain.state.finish();
    CHECK(chain.archived() == 1);
    chain.rejects(vote("bob", "alice", "one", 1), "a vote comes before the payout");
    chain.rejects(post("alice", "one"), "has a comment with this permlink");
    chain.next(reply("bob", "re", "alice", "one")); // a paid parent stays as it is
}

TEST_CASE("what breaks a rule is refused by its name") {
    social_chain chain;
    chain.next(post("alice", "one"));
    chain.next(vote("bob", "alice", "one", 1));
    const std::int64_t soon = chain.time + 9;
    const std::string too_long(257, 'x');
    chain.rejects(account("alice"), "(\"alice\") is taken");
    chain.rejects(account(""), "an account has a name");
    chain.rejects(post("nobody", "x"), "\"nobody\"");
    chain.rejects(post("alice", ""), "a permlink has 1 to 256 bytes");
    chain.rejects(post("alice", too_long.c_str()), "1 to 256 bytes");
    chain.rejects(post("alice", "one"), "comment with this permlink (alice/one)");
    chain.rejects(post("alice", "x", chain.time + 3, 1), "a cash-out is after");
    chain.rejects(post("alice", "x", soon, -1), "is not negative");
    chain.rejects(post("alice", "x", 0, 1), "without a cash-out nothing is paid");
    chain.rejects(post("alice", "x", soon, INT64_MAX, 1), "its range");
    chain.rejects(vote("bob", "alice", "two", 1), "a comment that exists (alice/two)");
    chain.rejects(vote("nobody", "alice", "one", 1), "\"nobody\"");
    chain.rejects(vote("bob", "alice", "one", 1), "is taken by object 0");
    chain.rejects(vote("carol", "alice", "one", INT64_MAX), "its range");
    chain.rejects(vote("carol", "alice", "one", 1, 10001), "100 percent");
    chain.rejects(social::custom{"alice", std::string(33, 'x'), {}}, "32 bytes");
    chain.rejects(social::custom{"nobody", "x", {}}, "\"nobody\"");
    chain.next(social::custom{"alice", "x", {}}, reply("bob", "re", "alice", "one"),
               reply("bob", "re-unknown", "somebody", "else"));
}

TEST_CASE("a comment that nobody answered or voted for is deleted, and its permlink is free") {
    social_chain chain;
    chain.next(post("alice", "one"), reply("alice", "re", "alice", "one"), post("alice", "two"),
               vote("bob", "alice", "two", 5), vote("carol", "alice", "re", -5));
    chain.rejects(deletion("alice", "none"), "a comment that exists (alice/none)");
    chain.rejects(deletion("alice", "one"), "a comment with replies stays (alice/one)");
    chain.rejects(deletion("alice", "two"), "stays until it is paid (alice/two)");
    chain.next(deletion("alice", "re"));
    chain.next(deletion("alice", "one")); // its only reply is gone
    chain.rejects(vote("bob", "alice", "re", 1), "a comment that exists");
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
    chain.next(deletion("bob", "re"));
    chain.next(deletion("alice", "one"));
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
    chain.rejects(deletion("alice", "one"), "a comment with replies stays");
    const std::string before = chain.digest();
    chain.next(deletion("alice", "two"));
    CHECK(chain.archived() == (is_archived ? 1 : 0));
    CHECK(chain.oracle("sum_of_balances") == 20);
    chain.rejects(deletion("alice", "two"), "a comment that exists");
    chain.next(post("alice", "two", chain.time + 6, 7));
    chain.pop();
    chain.pop();
    CHECK(chain.digest() == before);
    chain.next(deletion("alice", "two"));
    chain.next(post("alice", "two", chain.time + 6, 7));
    chain.next();
    chain.state.finish();
    chain.check_oracle({{"sum_of_balances", 27}});
    CHECK(chain.archived() == 2);
}

TEST_CASE("all money that accounts are given fits, whatever a log says") {
    social_chain chain;
    chain.next(deposit("alice", INT64_MAX - 10));
    chain.rejects(deposit("bob", 11), "what was deposited would exceed its range");
    chain.next(deposit("bob", 2), post("bob", "one", chain.time + 6, 8),
               post("bob", "two", chain.time + 12, 1));
    chain.next();
    chain.check_oracle({{"sum_of_balances", INT64_MAX}});
    chain.rejects(deposit("bob", 1), "the money of all accounts would exceed its range");
    chain.next();
    CHECK_THROWS_WITH(chain.next(), Contains("the money of all accounts"));
}

TEST_CASE("numbers of 128 bits are shown whole") {
    CHECK(to_string(int128{0}) == "0");
    CHECK(to_string(int128{-17}) == "-17");
    CHECK(to_string(2 * int128{INT64_MIN}) == "-18446744073709551616");
    CHECK(to_string(-4 * int128{INT64_MIN}) == "36893488147419103232");
}

TEST_CASE("a payout is undone with its block, and its comment can be voted on again") {
    social_chain chain(5);
    chain.next(post("alice", "one", chain.time + 6, 10, 3));
    const std::string before = chain.digest();
    chain.next();
    CHECK(chain.oracle("paid_posts") == 1);
    chain.pop();
    chain.check_oracle({{"paid_posts", 0}, {"sum_of_balances", 0}});
    CHECK(chain.digest() == before);
}

// --- swap ---

namespace {

swap::asset eos(std::int64_t amount) {
    return {amount, 4, "EOS"};
}
swap::asset box(std::int64_t amount) {
    return {amount, 6, "BOX"};
}

struct swap_chain : tested_chain {
    swap_chain() : tested_chain("eos-swap-2022") {
        next(exchange("alice", 7, eos(5000), box(10), eos(100'000), box(1000)));
    }
    void swap(swap::asset in, swap::asset out, swap::asset reserve0, swap::asset reserve1) {
        next(exchange("bob", 7, in, out, reserve0, reserve1));
    }
};

} // namespace

TEST_CASE("reserves follow from the swap, in either direction, or are counted and taken") {
    swap_chain chain;
    chain.check_oracle({{"first_of_pair", 1}, {"out_exact", 0}, {"out_other", 0}});
    chain.swap(eos(3000), box(20), eos(102'997), box(980)); // 3 of 3000 is fee
    chain.check_oracle({{"out_exact", 1}, {"in_exact", 1}});
    chain.swap(box(999), eos(997), eos(102'000), box(1979)); // no fee below 1000
    chain.check_oracle({{"out_exact", 2}, {"in_exact", 2}});
    chain.swap(box(10), eos(10), eos(50'000), box(5000)); // a withdrawal between
    chain.check_oracle({{"out_exact", 2}, {"out_other", 1}, {"in_other", 1}});
    chain.swap(box(10), eos(10), eos(49'990), box(5010)); // from the logged ones
    chain.check_oracle({{"out_exact", 3}, {"in_exact", 3}});
}

TEST_CASE("what is no swap of the pair is refused by the rule") {
    swap_chain chain;
    const swap::asset other{5, 4, "ABC"};
    const auto rejects = [&](const char* why, swap::asset in, swap::asset out, swap::asset first,
                             swap::asset second, const char* owner = "a") {
        chain.rejects(why, exchange(owner, 7, in, out, first, second));
    };
    rejects("belongs to the pair (pair 7)", other, box(1), eos(1), box(1));
    rejects("pair's other one", eos(1), other, eos(1), box(1));
    rejects("two tokens", eos(1), eos(1), eos(1), eos(1));
    rejects("not negative", eos(-1), box(1), eos(1), box(1));
    rejects("keeps its tokens", eos(1), other, eos(1), other);
    rejects("keeps its tokens", box(1), eos(1), box(1), eos(1));
    rejects("has a name", eos(1), box(1), eos(1), box(1), "");
}

TEST_CASE("amounts at the end of the range do not overflow") {
    swap_chain chain;
    constexpr std::int64_t most = INT64_MAX;
    chain.swap(eos(most), box(0), eos(most), box(1000));
    chain.swap(eos(most), box(1000), eos(most), box(0));
    chain.check_oracle({{"in_other", 2}, {"out_exact", 2}});
}

// --- blocks that are decoded, and their feed ---

namespace {

std::shared_ptr<const decoded_block> decode_social(byte_view encoded) {
    return decoder_of("steem-2016")(encoded);
}

/// A machine that has no room for block 2.
std::shared_ptr<const decoded_block> decode_without_room(byte_view encoded) {
    auto one = decode_social(encoded);
    if (one->number() == 2) throw std::bad_alloc();
    return one;
}

/// A log of many small records, a block of one operation for each number.
struct log_of_records {
    temporary_folder folder{memory_or_disk()};
    std::filesystem::path path = folder / "log";

    explicit log_of_records(std::uint64_t blocks = 2000) {
        block_log_options small;
        small.batch_bytes = 256;
        auto writer = block_log_writer::create(path, "steem-2016", small);
        for (std::uint64_t number = 1; number <= blocks; ++number)
            writer.append(block_of(number, static_cast<std::int64_t>(number), account("alice")));
        writer.close();
    }
    [[nodiscard]] driver::block_feed feed(const driver::block_feed::options& how) const {
        return driver::block_feed(block_log_reader(path), decode_social, how);
    }
};

} // namespace

TEST_CASE("a block takes memory for what is in it, not for what could be") {
    const auto nothing = decode_social(block_of_nothing(1, 0, 1 << 20));
    CHECK(nothing->transactions() == 1 << 20);
    CHECK(nothing->operations() == 0);
    CHECK(nothing->memory() > nothing->bytes());
    CHECK(nothing->memory() < 64 * nothing->bytes());

    block many{1, 3, {}};
    for (int i = 0; i < 1000; ++i)
        many.transactions.push_back({{social::encode(social::claim{})}});
    CHECK(decode_social(encode_block(many))->memory() > 1000 * sizeof(social::operation));
    CHECK(decode_social(encode_block({1, 3, {}}))->memory() < 1000);
}

TEST_CASE("a block's time is one that can be added to") {
    const auto at = [](std::int64_t time) { return encode_block({7, time, {}}); };
    CHECK(decode_social(at(decoded_block::last_timestamp))->timestamp() ==
          decoded_block::last_timestamp);
    for (const std::int64_t time : {decoded_block::last_timestamp + 1, INT64_MAX})
        CHECK_THROWS_WITH(decode_social(at(time)),
                          Contains("block 7") && Contains("time " + std::to_string(time)));
}

TEST_CASE("the feed counts what blocks take, and names the one that there is no memory for") {
    const log_of_records log(2);
    const block_log_reader reader(log.path);
    const auto all = driver::block_feed(reader, decode_social, {}).next();
    REQUIRE(all);
    REQUIRE(all->blocks.size() == 2);
    CHECK(all->memory == all->blocks[0]->memory() + all->blocks[1]->memory());

    driver::block_feed poor(reader, decode_without_room, {});
    const auto first = poor.next();
    REQUIRE(first);
    CHECK(first->blocks.size() == 1);
    for (int i = 0; i < 2; ++i)
        CHECK_THROWS_WITH(poor.next(), Contains(log.path.string()) && Contains("no memory") &&
                                           Contains("block 2"));
}

TEST_CASE("blocks come in order, whoever prepares them and whoever is slow") {
    const log_of_records log;
    REQUIRE(block_log_reader(log.path).records() > 50);
    const unsigned threads = GENERATE(1u, 2u, 5u);
    const unsigned ahead = GENERATE(1u, 16u);
    const bool is_slow = GENERATE(false, true);
    driver::block_feed feed = log.feed({5, 1900, threads, ahead});
    std::uint64_t next = 5;
    std::uint64_t position = 0;
    while (auto chunk = feed.next()) {
        for (const auto& one : chunk->blocks)
            REQUIRE(one->number() == next++);
        REQUIRE(chunk->position > position);
        position = chunk->position;
        if (is_slow && next % 7 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        feed.give_back(std::move(*chunk));
    }
    CHECK(next == 1901);
    CHECK_FALSE(feed.next());
    CHECK(feed.await(std::chrono::milliseconds(0)));
    if (is_slow && ahead == 1) CHECK(feed.waited().for_room.count() > 0);
}

TEST_CASE("a feed ends while its threads wait for room") {
    const log_of_records log;
    driver::block_feed feed = log.feed({1, {}, 3, 4});
    CHECK(feed.await(std::chrono::hours(1)));
    CHECK(feed.next()->blocks.front()->number() == 1);
}

TEST_CASE("what is damaged is told when all before it was delivered, and again") {
    const log_of_records log;
    const block_log_reader whole(log.path);
    const std::size_t damaged = whole.records() / 2;
    const std::uint64_t first_lost = whole.stream_record(damaged).next()->number;
    std::string bytes = test::read_all(log.path);
    bytes[whole.end_of_record(damaged - 1) + 40] ^= 1;
    write_all(log.path, bytes);
    driver::block_feed feed = log.feed({1, {}, 2, 8});
    std::uint64_t last = 0;
    const auto read_all = [&] {
        while (const auto chunk = feed.next())
            last = chunk->blocks.back()->number();
    };
    CHECK_THROWS_AS(read_all(), damaged_error);
    CHECK(last == first_lost - 1);
    CHECK_THROWS_AS(feed.next(), damaged_error);
}
