#include <pool_allocator/error.hpp>
#include <tools/chains/social/operations.hpp>
#include <tools/driver/import/import.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/packed_tables.hpp>

using namespace chainbase;
using namespace chainbase::test;

namespace {

const std::string post_columns =
    "created,author,permlink,parent_author,parent_permlink,last_payout,total_payout,"
    "curator_payout,net_rshares,children,title_bytes,body_bytes\n";
const std::string vote_columns = "voter,author,permlink,time,percent,rshares\n";

/// 2016-08-01T00:00:00 in Unix seconds; posts of these tests are created then.
constexpr std::int64_t day = 1'470'009'600;
const std::string created = "2016-08-01T00:00:00";

struct tables {
    std::string accounts;
    std::string posts;
    std::string votes;
};

import_summary import_tables(const temporary_folder& folder, const tables& from) {
    write_packed(folder / "accounts.txt.zst", from.accounts);
    write_packed(folder / "posts.csv.zst", post_columns + from.posts);
    write_packed(folder / "votes.csv.zst", vote_columns + from.votes);
    return import_steem_2016(folder.path(), folder / "log");
}

/// An operation and the time of its block.
struct timed {
    std::int64_t time;
    social::operation what;
};

std::vector<timed> timeline(const tables& from) {
    const temporary_folder folder;
    (void)import_tables(folder, from);
    std::vector<timed> result;
    for (const block& one : blocks_of(folder / "log"))
        for (const transaction& part : one.transactions)
            for (const bytes& operation : part.operations)
                result.push_back({one.timestamp, social::decode_operation(operation)});
    return result;
}

/// The voters and the times of their votes, relative to the posts' creation.
std::vector<std::pair<std::string, std::int64_t>> vote_times(const tables& from) {
    std::vector<std::pair<std::string, std::int64_t>> result;
    for (const timed& one : timeline(from))
        if (const auto* vote = std::get_if<social::vote>(&one.what))
            result.emplace_back(vote->voter.view(), one.time - day);
    return result;
}

std::string post_row(const std::string& permlink, const std::string& payout) {
    return created + ",bob," + permlink + ",,cat," + payout + ",1.5,0.25,-9,4,10,20\n";
}

using times = std::vector<std::pair<std::string, std::int64_t>>;

std::string refusal(const tables& from) {
    const temporary_folder folder;
    const std::string message =
        message_of<format_error>([&] { (void)import_tables(folder, from); });
    CHECK_FALSE(std::filesystem::exists(folder / "log"));
    return message;
}

} // namespace

TEST_CASE("accounts come first, sorted, with the authors and voters that the table lacks") {
    const auto seen = timeline({"zed\nalice\n", post_row("p", ""), "carol,bob,p,,,1\n"});
    REQUIRE(seen.size() == 6);
    const char* expected[] = {"alice", "bob", "carol", "zed"};
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(seen[i].what == social::operation(social::account_create{expected[i]}));
        CHECK(seen[i].time == day - 3);
    }
    CHECK(seen[4].time == day);
}

TEST_CASE("accounts fill blocks of a thousand in the slots before the first post") {
    std::string names;
    for (int i = 0; i < 2001; ++i)
        names += "account-" + std::to_string(i) + "\n";
    const auto seen = timeline({names, post_row("p", ""), ""});
    REQUIRE(seen.size() == 2003);
    CHECK(seen[0].time == day - 9);
    CHECK(seen[999].time == day - 9);
    CHECK(seen[1000].time == day - 6);
    CHECK(seen[2001].time == day - 3);
}

TEST_CASE("a post carries what the table says, a payout without a time is left out") {
    const auto seen =
        timeline({"", post_row("paid", "2016-08-02T00:00:00") + post_row("open", ""), ""});
    const social::operation paid =
        social::comment{"bob", "paid", {}, "cat", 10, 20, day + 86'400, 1500, 250, -9, 4};
    const social::operation open =
        social::comment{"bob", "open", {}, "cat", 10, 20, 0, 0, 0, -9, 4};
    REQUIRE(seen.size() == 3);
    CHECK(seen[1].what == paid);
    CHECK(seen[2].what == open);
}

TEST_CASE("votes without a time are spread evenly over a day at most") {
    const std::string votes = "v0,bob,p,,,1\nv1,bob,p,,,1\nv2,bob,p,,,1\n";
    const times over_a_day{{"v0", 21'600}, {"v1", 43'200}, {"v2", 64'800}};
    CHECK(vote_times({"", post_row("p", ""), votes}) == over_a_day);
    CHECK(vote_times({"", post_row("p", "2016-08-31T00:00:00"), votes}) == over_a_day);
    const times over_an_hour{{"v0", 900}, {"v1", 1800}, {"v2", 2700}};
    CHECK(vote_times({"", post_row("p", "2016-08-01T01:00:00"), votes}) == over_an_hour);
    // Whole seconds, rounded down to the slot: 10/4, 20/4, 30/4.
    const times over_ten_seconds{{"v0", 0}, {"v1", 3}, {"v2", 6}};
    CHECK(vote_times({"", post_row("p", "2016-08-01T00:00:10"), votes}) == over_ten_seconds);
}

TEST_CASE("a vote's own time counts, kept between creation and cash-out") {
    const std::string posts = post_row("p", "2016-08-01T01:00:00");
    const auto at = [&](const std::string& time) {
        return vote_times({"", posts, "v,bob,p," + time + ",,1\n"}).at(0).second;
    };
    CHECK(at("2016-08-01T00:30:00") == 1800);
    CHECK(at("2016-08-01T00:30:02") == 1800);
    CHECK(at("2016-07-31T00:00:00") == 0);
    CHECK(at("2016-08-01T00:59:59") == 3597);
    CHECK(at("2016-08-01T01:00:00") == 3597);
    CHECK(at("2016-09-01T00:00:00") == 3597);
    CHECK(vote_times({"", post_row("p", ""), "v,bob,p,2016-08-02T00:00:00,,1\n"}) ==
          times{{"v", 86'400}});
}

TEST_CASE("votes with a time do not count among those without") {
    const std::string votes = "v0,bob,p,,,1\nv1,bob,p,2016-08-01T00:00:30,,1\nv2,bob,p,,,1\n";
    CHECK(vote_times({"", post_row("p", ""), votes}) ==
          times{{"v1", 30}, {"v0", 28'800}, {"v2", 57'600}});
}

TEST_CASE("what is unknown of a vote is 0") {
    const auto vote_of = [](const std::string& rest) {
        return std::get<social::vote>(
            timeline({"", post_row("p", ""), "v,bob,p,," + rest + "\n"}).at(3).what);
    };
    CHECK(vote_of("10000,5").percent == 10'000);
    CHECK(vote_of("-10000,5").percent == -10'000);
    CHECK(vote_of("10001,5").percent == 0);
    CHECK(vote_of("2394000083171782907,5").percent == 0);
    CHECK(vote_of(",-5").percent == 0);
    CHECK(vote_of(",-5").rshares == -5);
    CHECK(vote_of("7,").rshares == 0);
}

TEST_CASE("blocks count from 1, one for each slot, up to the last cash-out") {
    const temporary_folder folder;
    const auto summary = import_tables(
        folder, {"a\n",
                 post_row("p", "2016-08-01T00:00:10") +
                     "2016-08-01T00:00:01,bob,q,bob,p,2016-09-01T00:00:01,0,0,0,0,0,0\n",
                 "v,bob,p,2016-08-01T00:00:06,,1\n"});
    const auto blocks = blocks_of(folder / "log");
    REQUIRE(blocks.size() == 4);
    CHECK(summary.blocks == 4);
    CHECK(summary.operations == 6);
    const std::int64_t expected[] = {day - 3, day, day + 6, day + 31 * 86'400 + 3};
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(blocks[i].number == i + 1);
        CHECK(blocks[i].timestamp == expected[i]);
    }
    CHECK(blocks[1].transactions.size() == 2);
    CHECK(blocks[3].transactions.empty());
}

TEST_CASE("a malformed table is refused with file, line and column") {
    using Catch::Contains;
    const std::string post = post_row("p", "");
    CHECK_THAT(refusal({"a\n\n", post, ""}), Contains("accounts.txt.zst: line 2"));
    CHECK_THAT(refusal({"seventeen-letters\n", post, ""}), Contains("line 1"));
    CHECK_THAT(refusal({"", "", ""}), Contains("holds no post"));
    CHECK_THAT(refusal({"", post + post, ""}), Contains("posts.csv.zst: line 3, column 3"));
    CHECK_THAT(refusal({"", post_row("p", created), ""}), Contains("column 6 (last_payout)"));
    CHECK_THAT(refusal({"", post_row(std::string(257, 'p'), ""), ""}), Contains("column 3"));
    CHECK_THAT(refusal({"", post, "v,bob,q,,,1\n"}), Contains("votes.csv.zst: line 2, column 3"));
    CHECK_THAT(refusal({"", post, ",bob,p,,,1\n"}), Contains("column 1 (voter)"));
    CHECK_THAT(refusal({"", post, "v,bob,p,,x,1\n"}), Contains("column 5 (percent): \"x\""));
    CHECK_THAT(refusal({"", post, "v,bob,p,,,9223372036854775808\n"}),
               Contains("column 6 (rshares)"));
    for (const char* time : {"2016-13-01T00:00:00", "2016-02-30T00:00:00", "2016-08-01T24:00:00",
                             "2016-08-01T00:60:00", "2016-08-01T00:00:60", "2016-08-01 00:00:00",
                             "2016-08-01T00:00:0", "2016-08-01T00:00:000", "+016-08-01T00:00:00"})
        CHECK_THAT(refusal({"", post, "v,bob,p," + std::string(time) + ",,1\n"}),
                   Contains("column 4 (time)"));
    for (const char* amount : {"", ".5", "1.", "-1", "1.2345", "1e3", "1 ", "99999999999999999"})
        CHECK_THAT(refusal({"", created + ",bob,p,,c,," + amount + ",0,0,0,0,0\n", ""}),
                   Contains("column 7 (total_payout)"));
}
