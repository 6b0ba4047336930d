#include <pool_allocator/error.hpp>
#include <tools/driver/block_log_tools/log_making.hpp>
#include <tools/driver/block_log_tools/log_pieces.hpp>
#include <tools/driver/block_log_tools/log_reading.hpp>

#include <catch2/catch.hpp>
#include <sys/resource.h>
#include <tests/support/random_source.hpp>
#include <tests/tools/sample_blocks.hpp>

#include <algorithm>
#include <memory>

/// Logs are cut and joined; every block must be where a plain vector says, and nothing else.
using namespace chainbase;
using namespace chainbase::driver;
using namespace chainbase::test;

namespace {

log_progress shown("testing");

std::vector<block> blocks_in(const std::vector<block>& all, const block_range& range) {
    std::vector<block> some;
    std::ranges::copy_if(all, std::back_inserter(some),
                         [&](const block& one) { return range.contains(one.number); });
    return some;
}

std::string digest(const std::filesystem::path& log, const block_range& range = {}) {
    return digest_of(log, range, shown).sha256;
}

std::vector<std::filesystem::path> paths_of(const made_logs& made) {
    std::vector<std::filesystem::path> paths;
    for (const made_log& one : made.logs)
        paths.push_back(one.path);
    return paths;
}

/// A log of random blocks in records of random size.
struct random_log {
    temporary_folder folder;
    std::filesystem::path path = folder / "log";
    std::vector<block> blocks;

    random_source& random;

    explicit random_log(random_source& from)
        : blocks(sample_blocks(1 + from.below(80), from.next())), random(from) {
        write_log(path, blocks, random.below(600));
    }
    /// The number of a block, or one between, before or behind them.
    std::uint64_t number() {
        return 995 + random.below(static_cast<std::uint32_t>(blocks.back().number - 990));
    }
    /// One at which the log can be split; 0 when it has a single block.
    std::uint64_t inner_number() {
        return blocks.size() == 1
                   ? 0
                   : blocks[1 + random.below(static_cast<std::uint32_t>(blocks.size() - 1))].number;
    }
};

/// The pieces hold the blocks, all of them, and merge to the same content in any order.
void check_pieces(random_log& log, const made_logs& made, const std::string& name) {
    std::vector<block> seen;
    for (const made_log& one : made.logs) {
        const auto piece = read_log(one.path);
        REQUIRE(piece.size() == one.blocks);
        REQUIRE(piece.front().number == one.first);
        REQUIRE(piece.back().number == one.last);
        REQUIRE(std::filesystem::file_size(one.path) == one.bytes);
        seen.insert(seen.end(), piece.begin(), piece.end());
    }
    REQUIRE(seen == log.blocks);
    auto from = paths_of(made);
    REQUIRE(std::ranges::is_sorted(from));
    for (std::size_t i = from.size(); i > 1; --i)
        std::swap(from[i - 1], from[log.random.below(static_cast<std::uint32_t>(i))]);
    (void)merge_logs({log.folder / name, from, true}, shown);
    REQUIRE(read_log(log.folder / name) == log.blocks);
    REQUIRE(digest(log.folder / name) == digest(log.path));
}

} // namespace

TEST_CASE("random cuts of random logs hold the blocks that a vector says") {
    const std::uint64_t seed = test_seed(20261121);
    INFO("CHAINBASE_TEST_SEED=" << seed);
    random_source random(seed);
    for (int round = 0; round < 25; ++round) {
        random_log log(random);
        const std::string before = read_file(log.path);
        const block_range range{log.number(), log.number()};
        const auto expected = blocks_in(log.blocks, range);
        CAPTURE(round, log.blocks.size(), range.first, range.last);
        if (expected.empty()) {
            REQUIRE_THROWS_AS(trim_log(log.path, log.folder / "cut", range, shown), usage_error);
            REQUIRE_FALSE(std::filesystem::exists(log.folder / "cut"));
            REQUIRE_THROWS_AS(digest_of(log.path, range, shown), usage_error);
        } else {
            (void)trim_log(log.path, log.folder / "cut", range, shown);
            REQUIRE(read_log(log.folder / "cut") == expected);
            REQUIRE(digest(log.folder / "cut") == digest(log.path, range));
        }
        const std::uint64_t every = 1 + random.below(40);
        const auto equal = split_log({log.path, log.folder / "every", {}, every}, shown);
        for (std::size_t i = 0; i + 1 < equal.logs.size(); ++i)
            REQUIRE(equal.logs[i].blocks == every);
        check_pieces(log, equal, "merged");
        if (const std::uint64_t at = log.inner_number(); at != 0) {
            const std::uint64_t second = log.inner_number();
            const auto made = split_log({log.path, log.folder / "at", {at, second}, {}}, shown);
            REQUIRE(made.logs.size() == (at == second ? 2 : 3));
            REQUIRE(made.logs[1].first == std::min(at, second));
            check_pieces(log, made, "merged again");
        }
        REQUIRE(read_file(log.path) == before);
    }
}

TEST_CASE("what lies wholly inside a cut is copied without being packed anew") {
    const temporary_folder folder;
    const auto blocks = sample_blocks(60);
    write_log(folder / "log", blocks, 200); // level 3, which a cut would not choose
    (void)trim_log(folder / "log", folder / "copy", {}, shown);
    CHECK(read_file(folder / "copy") == read_file(folder / "log"));
    (void)merge_logs({folder / "merged", {folder / "log"}, false}, shown);
    CHECK(read_file(folder / "merged") == read_file(folder / "log"));
}

TEST_CASE("the digest does not depend on records, and on everything in the blocks") {
    const temporary_folder folder;
    auto blocks = sample_blocks(60);
    write_log(folder / "a", blocks, 0);
    write_log(folder / "b", blocks, 4000);
    CHECK(digest(folder / "a") == digest(folder / "b"));
    const auto whole = digest_of(folder / "a", {}, shown);
    CHECK(whole.blocks == 60);
    CHECK(whole.first == blocks.front().number);
    CHECK(whole.last == blocks.back().number);
    const auto differs = [&](const char* name) {
        write_log(folder / name, blocks, 0);
        return digest(folder / name) != whole.sha256;
    };
    blocks[30].timestamp += 1;
    CHECK(differs("time"));
    blocks[30].timestamp -= 1;
    blocks[30].transactions.emplace_back();
    CHECK(differs("transaction"));
    blocks[30].transactions.pop_back();
    CHECK_FALSE(differs("same"));
    blocks.pop_back();
    CHECK(differs("shorter"));
}

TEST_CASE("pieces that overlap or leave a gap are refused with their numbers") {
    const temporary_folder folder;
    std::vector<block> blocks;
    for (std::uint64_t number = 1; number <= 30; ++number)
        blocks.push_back({number, 0, {}});
    write_log(folder / "log", blocks, 20);
    const auto cut = [&](const char* name, std::uint64_t first, std::uint64_t last) {
        (void)trim_log(folder / "log", folder / name, {first, last}, shown);
        return folder / name;
    };
    const auto first = cut("first", 1, 10);
    const auto next = cut("next", 11, 20);
    const auto later = cut("later", 15, 30);
    const auto last = cut("last", 22, 30);
    write_log(folder / "empty", {});
    const auto merge = [&](std::vector<std::filesystem::path> from, bool allow_gaps = false) {
        return merge_logs({folder / "merged", std::move(from), allow_gaps}, shown);
    };
    using Catch::Contains;
    CHECK_THROWS_WITH(merge({later, first, next}),
                      Contains("overlap from block 15 to 20") && Contains(next.string()));
    CHECK_THROWS_WITH(merge({first, first}), Contains("overlap from block 1 to 10"));
    CHECK_THROWS_WITH(merge({first, next, last}),
                      Contains("21 to 21 are missing") && Contains("--allow-gaps"));
    CHECK_THROWS_AS(merge({folder / "empty"}), usage_error);
    CHECK_FALSE(std::filesystem::exists(folder / "merged"));
    CHECK(merge({last, folder / "empty", next, first}, true).logs.front().blocks == 29);
    CHECK_THROWS_WITH(merge({first, next}), Contains("exists already"));
}

TEST_CASE("more logs are merged than a process can have open") {
    const temporary_folder folder;
    std::vector<std::filesystem::path> from;
    for (std::uint64_t number = 1; number <= 100; ++number) {
        from.push_back(folder / std::to_string(number));
        write_log(from.back(), {{number, 0, {}}});
    }
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    const rlimit few{64, before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    CHECK_NOTHROW(merge_logs({folder / "merged", from, false}, shown));
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(read_log(folder / "merged").size() == 100);
}

TEST_CASE("logs of different chains are not merged") {
    const temporary_folder folder;
    write_log(folder / "a", {{1, 0, {}}});
    auto other = block_log_writer::create(folder / "b", "other-chain");
    other.append({2, 0, {}});
    other.close();
    CHECK_THROWS_WITH(merge_logs({folder / "c", {folder / "a", folder / "b"}, false}, shown),
                      Catch::Contains("other-chain") && Catch::Contains(sample_chain));
}

TEST_CASE("a split at a number that cuts nothing off, or into a folder that exists, is refused") {
    const temporary_folder folder;
    const auto blocks = sample_blocks(10);
    write_log(folder / "log", blocks);
    for (const std::uint64_t at :
         {blocks.front().number, blocks.back().number + 1, std::uint64_t{0}})
        CHECK_THROWS_WITH(split_log({folder / "log", folder / "pieces", {at}, {}}, shown),
                          Catch::Contains("nothing is split at " + std::to_string(at)));
    CHECK_FALSE(std::filesystem::exists(folder / "pieces"));
    CHECK_FALSE(std::filesystem::exists(folder / "pieces.unfinished"));
    std::filesystem::create_directory(folder / "pieces");
    CHECK_THROWS_WITH(split_log({folder / "log", folder / "pieces", {}, 3}, shown),
                      Catch::Contains("exists already"));
    write_log(folder / "empty", {});
    CHECK_THROWS_AS(split_log({folder / "empty", folder / "other", {}, 3}, shown), usage_error);
}

TEST_CASE(
    "what an interrupted split left behind is replaced, what somebody else put there is not") {
    const temporary_folder folder;
    write_log(folder / "log", sample_blocks(10));
    const auto leftover = folder / "pieces.unfinished";
    std::filesystem::create_directory(leftover);
    write_file(leftover / "from-0000001000.blocks.unfinished", "half");
    write_file(leftover / "notes", "mine");
    CHECK_THROWS_WITH(split_log({folder / "log", folder / "pieces", {}, 3}, shown),
                      Catch::Contains("notes"));
    CHECK(std::filesystem::exists(leftover / "from-0000001000.blocks.unfinished"));
    std::filesystem::remove(leftover / "notes");
    CHECK(split_log({folder / "log", folder / "pieces", {}, 3}, shown).logs.size() == 4);
    CHECK_FALSE(std::filesystem::exists(leftover));
}

TEST_CASE("a log that another call is making is left to it") {
    const temporary_folder folder;
    const auto path = folder / "log";
    auto first = std::make_unique<unfinished_log>(path, sample_chain);
    first->append({1, 3, {}});
    CHECK_THROWS_WITH(unfinished_log(path, sample_chain),
                      Catch::Contains("log.unfinished") && Catch::Contains("another call"));
    first->append({2, 6, {}});
    (void)first->finish();
    CHECK(read_log(path).size() == 2);
    std::filesystem::remove(path);
    unfinished_log second(path, sample_chain);
    first.reset(); // whose name it is no more
    second.append({1, 3, {}});
    (void)second.finish();
    CHECK(read_log(path).size() == 1);
}

TEST_CASE("a folder that another call is making is left to it") {
    const temporary_folder folder;
    const auto path = folder / "pieces";
    auto first = std::make_unique<unfinished_folder>(path);
    write_file(first->piece(7), "a piece");
    CHECK_THROWS_AS(unfinished_folder(path), locked_error);
    CHECK(read_file(first->piece(7)) == "a piece");
    first->finish();
    std::filesystem::rename(path, folder / "elsewhere");
    unfinished_folder second(path);
    first.reset();
    second.finish();
    CHECK(std::filesystem::is_empty(path));
}

TEST_CASE("pieces are named so that their names sort as their blocks do") {
    const temporary_folder folder;
    const unfinished_folder pieces(folder / "pieces");
    CHECK(pieces.piece(9'999'999'999) < pieces.piece(10'000'000'000));
    CHECK(pieces.piece(999) < pieces.piece(UINT64_MAX));
}

TEST_CASE("a torn end is not carried into what is made") {
    const temporary_folder folder;
    const auto blocks = sample_blocks(10);
    write_log(folder / "log", blocks);
    write_file(folder / "log", read_file(folder / "log") + "torn");
    (void)trim_log(folder / "log", folder / "copy", {}, shown);
    CHECK(read_log(folder / "copy") == blocks);
    const auto size = std::filesystem::file_size(folder / "log");
    CHECK(std::filesystem::file_size(folder / "copy") + 4 == size);
}
