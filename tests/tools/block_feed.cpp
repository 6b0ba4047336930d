#include <pool_allocator/error.hpp>
#include <tools/driver/block_feed.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/small_chain.hpp>

#include <chrono>
#include <thread>

/// Blocks that other threads prepare come in the log's order, and end where it is damaged.
using namespace chainbase;
using namespace chainbase::test;
using driver::block_feed;

namespace {

/// A log of many small records, a block of one operation for each number.
struct log_of_records {
    temporary_folder folder;
    static constexpr std::uint64_t blocks = 2000;

    log_of_records() {
        block_log_options small;
        small.batch_bytes = 256;
        auto writer = block_log_writer::create(path(), "steem-2016", small);
        for (std::uint64_t number = 1; number <= blocks; ++number)
            writer.append(block_of(number, static_cast<std::int64_t>(number), account("alice")));
        writer.close();
    }
    [[nodiscard]] std::filesystem::path path() const { return folder / "log"; }
    [[nodiscard]] block_feed feed(const block_feed::options& how) const {
        return block_feed(block_log_reader(path()), decoder_of("steem-2016"), how);
    }
};

} // namespace

TEST_CASE("blocks come in order, whoever prepares them and whoever is slow") {
    const log_of_records log;
    REQUIRE(block_log_reader(log.path()).records() > 50);
    const unsigned threads = GENERATE(1u, 2u, 5u);
    const unsigned ahead = GENERATE(1u, 16u);
    const bool is_slow = GENERATE(false, true);
    block_feed feed = log.feed({5, 1900, threads, ahead});
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
    block_feed feed = log.feed({1, {}, 3, 4});
    CHECK(feed.await(std::chrono::hours(1)));
    CHECK(feed.next()->blocks.front()->number() == 1);
}

TEST_CASE("what is damaged is told when all before it was delivered, and again") {
    const log_of_records log;
    const block_log_reader whole(log.path());
    const std::size_t damaged = whole.records() / 2;
    const std::uint64_t first_lost = whole.stream_record(damaged).next()->number;
    std::string bytes = test::read_file(log.path());
    const auto middle = static_cast<std::size_t>(whole.position_of(first_lost - 1));
    bytes[middle + 40] = static_cast<char>(bytes[middle + 40] ^ 1);
    test::write_file(log.path(), bytes);
    block_feed feed = log.feed({1, {}, 2, 8});
    std::uint64_t last = 0;
    const auto read_all = [&] {
        while (const auto chunk = feed.next())
            last = chunk->blocks.back()->number();
    };
    CHECK_THROWS_AS(read_all(), damaged_error);
    CHECK(last == first_lost - 1);
    CHECK_THROWS_AS(feed.next(), damaged_error);
}
