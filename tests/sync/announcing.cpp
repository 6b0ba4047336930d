/// Blocks in runs of any length, from senders that come and go, and the result: one block at a
/// time, preceded by its transactions.

#include <tools/driver/live/announcing_source.hpp>

#include <catch2/catch.hpp>
#include <tests/sync/payments_chains.hpp>

#include <set>

using namespace chainbase;
using namespace chainbase::test;
using driver::block_place;
using driver::block_source;
using driver::live::announcing_source;
using kind = block_source::event::kind;

namespace {

/// Returns the events that a test listed.
class listed_source final : public block_source {
public:
    std::deque<event> events;
    std::vector<std::uint64_t> refused;

    event next(std::chrono::milliseconds) override {
        if (events.empty()) return {};
        event first = std::move(events.front());
        events.pop_front();
        return first;
    }
    void resume(const std::vector<block_place>&) override {}
    void refuse(std::uint64_t sender, driver::peer_error::severity, const std::string&) override {
        refused.push_back(sender);
        std::erase_if(events, [&](const event& one) { return one.sender == sender; });
    }
    void mark_useful(std::uint64_t) override {}
    void give_back(std::vector<std::shared_ptr<const decoded_block>>) override {}
    [[nodiscard]] counters so_far() const override { return {}; }
};

struct story {
    explicit story(std::uint64_t seed) : random(seed) {}

    random_source random;
    payments_node maker; ///< for its blocks only
    listed_source from;
    driver::live::arrivals queue{100'000};
    std::vector<block_place> sent;
    block_place last;

    void add_run(std::uint64_t sender) {
        block_source::event next;
        next.what = kind::blocks;
        next.sender = sender;
        next.blocks.parent = last;
        for (std::uint32_t left = 1 + random.below(9); left > 0; --left) {
            std::vector<payments::operation> some;
            for (std::uint32_t i = random.below(5); i > 0; --i)
                some.push_back(
                    payments::payment{"alice", "bob", std::int64_t(sent.size() * 10 + i)});
            block one = maker.made(some);
            one.number = last.number + 1;
            auto content = decoder_of("payments")(encode_block(one));
            last = {one.number, next_id(last.id, content->checksum())};
            sent.push_back(last);
            next.blocks.ids.push_back(last.id);
            next.blocks.blocks.push_back(std::move(content));
        }
        from.events.push_back(std::move(next));
    }
    void add_plain(kind what, std::uint64_t sender) {
        block_source::event next;
        next.what = what;
        next.sender = sender;
        from.events.push_back(std::move(next));
    }
};

} // namespace

TEST_CASE("blocks come one by one and in order, their transactions once each and before them") {
    const std::uint64_t seed = test_seed(51);
    INFO("CHAINBASE_TEST_SEED=" << seed);
    story all(seed);
    const bool shuffled = GENERATE(false, true);
    constexpr std::size_t early = 20;
    announcing_source source(all.from, all.queue,
                             {early, shuffled ? std::optional<std::uint64_t>(seed) : std::nullopt});
    for (std::uint64_t sender = 1; sender <= 20; ++sender) {
        all.add_plain(kind::asks, sender);
        for (int runs = 0; runs < 10; ++runs)
            all.add_run(sender);
        all.add_plain(kind::caught_up, sender);
    }
    std::set<std::uint64_t> ahead; // checksums of transactions whose block has not come
    std::size_t announced = 0, late = 0, blocks = 0, asked = 0, ends = 0;
    block_place parent{};
    for (;;) {
        source.announce();
        std::vector<driver::live::parcel> arrived;
        all.queue.take(arrived);
        for (const auto& one : arrived)
            REQUIRE(ahead.insert(one.from->checksum_of(one.first)).second);
        announced += arrived.size();
        REQUIRE(ahead.size() <= early);
        auto next = source.next(std::chrono::milliseconds(0));
        if (next.what == kind::nothing) break;
        if (next.what == kind::asks) ++asked;
        if (next.what == kind::caught_up) ++ends;
        if (next.what != kind::blocks) continue;
        REQUIRE(next.blocks.blocks.size() == 1);
        REQUIRE(next.blocks.parent == parent);
        REQUIRE(next.sender == ends + 1);
        const decoded_block& one = *next.blocks.blocks.front();
        parent = {one.number(), next.blocks.ids.front()};
        REQUIRE(parent == all.sent[blocks++]);
        for (std::size_t i = 0; i < one.transactions(); ++i)
            if (ahead.erase(one.checksum_of(i)) == 0) ++late;
    }
    CHECK(blocks == all.sent.size());
    CHECK(asked == 20);
    CHECK(ends == 20);
    CHECK(ahead.empty());
    CHECK(announced > 1000);
    if (!shuffled) CHECK(late < announced / 4); // the first of each sender
}

TEST_CASE("what a refused sender has sent is forgotten, and others' is not") {
    story all(1);
    announcing_source source(all.from, all.queue, {1000, {}});
    all.add_run(1);
    all.add_run(2);
    all.add_run(2);
    source.announce();
    const std::size_t others = source.next(std::chrono::milliseconds(0)).blocks.blocks.size();
    REQUIRE(others == 1);
    source.refuse(2, driver::peer_error::severity::fault, "of no use");
    CHECK(all.from.refused == std::vector<std::uint64_t>{2});
    all.add_run(3);
    source.announce();
    std::size_t of_first = 0, of_third = 0;
    for (auto next = source.next(std::chrono::milliseconds(0)); next.what != kind::nothing;
         next = source.next(std::chrono::milliseconds(0))) {
        CHECK(next.sender != 2);
        ++(next.sender == 1 ? of_first : of_third);
    }
    CHECK(of_third > 0);
    CHECK(of_first + of_third + 1 < all.sent.size());
}

TEST_CASE("blocks without transactions are not taken in without end") {
    story all(1);
    announcing_source source(all.from, all.queue, {1000, {}});
    constexpr std::size_t runs = 50'000;
    for (std::size_t i = 0; i < runs; ++i) {
        block one = all.maker.made({});
        one.number = i + 1;
        block_source::event next;
        next.what = kind::blocks;
        next.blocks.blocks.push_back(decoder_of("payments")(encode_block(one)));
        next.blocks.ids.push_back({0, i + 1});
        all.from.events.push_back(std::move(next));
    }
    source.announce();
    CHECK(all.from.events.size() >= runs - announcing_source::max_ahead);
    CHECK(all.from.events.size() < runs);
}
