/// Which peer is asked for which chunk of a snapshot, and what peers send of one.
/// tests/programs/test_snapshot_sync.py starts whole nodes from snapshots.

#include <tools/driver/sync/fetch_plan.hpp>
#include <tools/driver/sync/messages.hpp>

#include <catch2/catch.hpp>
#include <tests/support/random_source.hpp>

#include <algorithm>

using namespace chainbase;
using namespace chainbase::test;
using driver::fetch_plan;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr fetch_plan::time begin{};

} // namespace

TEST_CASE("peers are asked for different chunks, until all are there") {
    fetch_plan plan(3, 2, seconds(5));
    REQUIRE(plan.ask(0, begin) == 0u);
    REQUIRE(plan.ask(1, begin) == 1u);
    REQUIRE(plan.take(0));
    REQUIRE(plan.ask(0, begin) == 2u);
    REQUIRE(plan.take(2));
    REQUIRE_FALSE(plan.is_done());
    REQUIRE(plan.take(1));
    REQUIRE(plan.is_done());
    REQUIRE_FALSE(plan.ask(0, begin + seconds(60)));
    REQUIRE_FALSE(plan.hopeless());
}

TEST_CASE("what a slow peer owes is asked of another, the oldest first, and who is first counts") {
    fetch_plan plan(2, 3, seconds(5));
    REQUIRE(plan.ask(0, begin) == 0u);
    REQUIRE(plan.ask(1, begin + seconds(1)) == 1u);
    REQUIRE_FALSE(plan.ask(2, begin + milliseconds(4999)));
    REQUIRE(plan.ask(2, begin + seconds(5)) == 0u);
    REQUIRE(plan.take(0));
    REQUIRE_FALSE(plan.is_wanted(0));
    REQUIRE_FALSE(plan.take(0));
    REQUIRE_FALSE(plan.ask(2, begin + milliseconds(5999)));
    REQUIRE(plan.ask(2, begin + seconds(6)) == 1u);
    REQUIRE_FALSE(plan.ask(0, begin + seconds(10))); // asked again a second ago
    REQUIRE(plan.ask(0, begin + seconds(11)) == 1u);

    fetch_plan other(2, 3, seconds(5));
    REQUIRE(other.ask(0, begin + seconds(1)) == 0u);
    REQUIRE(other.ask(1, begin) == 1u);
    REQUIRE(other.ask(2, begin + seconds(9)) == 1u);
}

TEST_CASE("what a lost peer owes is asked at once, of itself, too, but not what it lacks") {
    fetch_plan plan(2, 2, seconds(5));
    REQUIRE(plan.ask(0, begin) == 0u);
    plan.release(0);
    REQUIRE(plan.ask(0, begin) == 0u);
    plan.lack(0, 0);
    REQUIRE(plan.ask(0, begin) == 1u);
    REQUIRE(plan.ask(1, begin) == 0u);
    plan.release(1);
    REQUIRE_FALSE(plan.ask(0, begin + seconds(60)) == 0u);
    plan.drop(1);
    REQUIRE_FALSE(plan.ask(1, begin));
    REQUIRE(plan.hopeless() == 0u);
}

TEST_CASE("without a peer there is no hope, unless all is there") {
    fetch_plan plan(2, 1, seconds(5));
    REQUIRE_FALSE(plan.hopeless());
    REQUIRE(plan.take(0));
    plan.drop(0);
    REQUIRE(plan.hopeless() == 1u);
    REQUIRE(plan.take(1));
    REQUIRE_FALSE(plan.hopeless());
}

TEST_CASE("whatever peers do, an honest one completes it, and nothing is asked twice in time") {
    random_source random(test_seed(41));
    CAPTURE(random.seed());
    for (int round = 0; round < 200; ++round) {
        const std::size_t chunks = 1 + random.below(20);
        const std::size_t peers = 1 + random.below(4); // the last one is honest
        fetch_plan plan(chunks, peers, seconds(5));
        std::vector<std::optional<std::size_t>> owed(peers);
        std::vector<bool> is_dropped(peers);
        std::vector<fetch_plan::time> asked(chunks, begin - seconds(60));
        auto now = begin;
        for (int step = 0; !plan.is_done(); ++step, now += seconds(1)) {
            REQUIRE(step < 10'000);
            REQUIRE_FALSE(plan.hopeless());
            const auto who = static_cast<std::size_t>(random.below(peers));
            if (!owed[who]) {
                owed[who] = plan.ask(who, now);
                if (!owed[who]) continue;
                REQUIRE_FALSE(is_dropped[who]);
                const bool is_owed = std::ranges::count(owed, owed[who]) > 1;
                REQUIRE((!is_owed || now >= asked[*owed[who]] + seconds(5)));
                asked[*owed[who]] = now;
                continue;
            }
            const std::size_t chunk = *std::exchange(owed[who], std::nullopt);
            const bool is_honest = who + 1 == peers;
            const auto what = is_honest ? 0 : random.below(5);
            if (what < 2) {
                static_cast<void>(plan.take(chunk));
            } else if (what == 2) {
                plan.lack(who, chunk);
            } else if (what == 3) {
                plan.release(who);
            } else {
                plan.drop(who);
                is_dropped[who] = true;
            }
        }
    }
}

TEST_CASE("parts of a file that do not fit it are refused") {
    const bytes content(3);
    const auto read = [&](std::uint64_t file_bytes, std::uint64_t offset, std::size_t size) {
        const bytes frame = driver::framed(
            driver::snapshot_part_message{file_bytes, offset, byte_view(content).first(size)});
        return driver::read_snapshot_part(
            byte_view(frame).subspan(sizeof(driver::wire::frame_header)));
    };
    CHECK(read(10, 7, 3).content.size() == 3);
    CHECK(read(0, 0, 0).file_bytes == 0);
    CHECK_THROWS_AS(read(10, 8, 3), driver::peer_error);
    CHECK_THROWS_AS(read(10, UINT64_MAX, 3), driver::peer_error);
    CHECK_THROWS_AS(read(10, 10, 0), driver::peer_error);
    CHECK_THROWS_AS(read(0, 0, 1), driver::peer_error);
    CHECK_THROWS_AS(driver::read_snapshot_part(byte_view(content)), driver::peer_error);
    CHECK_THROWS_AS(driver::read_snapshot_request(byte_view(content)), driver::peer_error);
}
