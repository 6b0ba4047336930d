#include <tools/driver/block_feed.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/forged_block.hpp>
#include <tests/tools/small_chain.hpp>

#include <new>

/// What decoding takes and refuses, whoever made the blocks.
using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

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

} // namespace

TEST_CASE("a block takes memory for what is in it, not for what could be") {
    const bytes forged = block_of_nothing(1, 0, 1 << 20);
    const auto nothing = decode_social(forged);
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
    const temporary_folder folder;
    const std::vector<block> blocks{block_of(1, 3, account("alice")),
                                    block_of(2, 6, account("bob"))};
    write_blocks(folder / "log", "steem-2016", blocks);
    const block_log_reader log(folder / "log");
    driver::block_feed good(log, decode_social, {});
    const auto all = good.next();
    REQUIRE(all);
    REQUIRE(all->blocks.size() == 2);
    CHECK(all->memory == all->blocks[0]->memory() + all->blocks[1]->memory());

    driver::block_feed poor(log, decode_without_room, {});
    const auto first = poor.next();
    REQUIRE(first);
    CHECK(first->blocks.size() == 1);
    for (int i = 0; i < 2; ++i)
        CHECK_THROWS_WITH(poor.next(), Contains((folder / "log").string()) &&
                                           Contains("no memory") && Contains("block 2"));
}
