#include <tools/driver/generate/open_comments.hpp>

#include <catch2/catch.hpp>

/// What the generator keeps of the comments that something is still to come to.
using chainbase::generate::open_comments;
using awaited = open_comments::awaited;

TEST_CASE("a thread is kept until it is complete, and no longer") {
    open_comments open;
    const auto post = open.add({.permlink = "post"});
    for (const std::uint64_t block : {1, 2, 3})
        open.await(awaited::reply, post, block);

    REQUIRE(open.take(awaited::reply) == post);
    const auto first = open.add_reply(post, {.permlink = "first", .depth = 1});
    open.await(awaited::vote, first, 9);
    REQUIRE(open.take(awaited::reply) == post);
    const auto second = open.add_reply(post, {.permlink = "second", .depth = 2});
    open.forget_if_done(second);
    CHECK(open[second].permlink == "second"); // nothing is to come to it but further replies
    CHECK(open[post].thread == std::vector{first, second});

    REQUIRE(open.take(awaited::reply) == post);
    const auto last = open.add_reply(post, {.permlink = "last", .depth = 1});
    open.forget_if_done(last);
    CHECK(open[first].permlink == "first"); // the vote
    CHECK(open[second].permlink.empty());
    CHECK(open[last].permlink.empty());
    CHECK(open[post].permlink.empty());

    REQUIRE(open.take(awaited::vote) == first);
    open.came(first);
    for (int i = 0; i < 4; ++i) // in the places of the four
        CHECK(open.add({}) <= last);
}
