#include <pool_allocator/base/error.hpp>
#include <tools/driver/block_log_tools/log_making.hpp>
#include <tools/driver/block_log_tools/log_pieces.hpp>
#include <tools/driver/block_log_tools/log_reading.hpp>
#include <tools/driver/block_log_tools/log_repair.hpp>
#include <tools/driver/block_log_tools/log_verification.hpp>
#include <tools/driver/import/unfinished_log.hpp>
#include <tools/driver/open_log.hpp>
#include <tools/interruption.hpp>
#include <tools/progress.hpp>

#include <catch2/catch.hpp>
#include <sys/resource.h>
#include <tests/support/lowered_limit.hpp>
#include <tests/support/property.hpp>
#include <tests/tools/sample_logs.hpp>

#include <algorithm>
#include <csignal>
#include <memory>

/// The tools that make logs from logs: random cuts against a plain vector, signals and full disks
/// midway, and concurrent calls. tests/programs/test_block_log_verbs.py tests the verbs' output,
/// also for damage.
using namespace chainbase;
using namespace chainbase::driver;
using namespace chainbase::test;
using Catch::Contains;

namespace {

progress shown("testing");

std::string digest(const std::filesystem::path& log, const block_range& range = {}) {
    return digest_of(log, range, shown).sha256;
}

std::size_t files_in(const temporary_folder& folder) {
    const std::filesystem::directory_iterator all(folder.path());
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// The pieces hold the blocks, all of them, and merge to the same content in any order.
void check_pieces(const sample_log& log, const made_logs& made, const std::string& name) {
    std::vector<block> seen;
    std::vector<std::filesystem::path> from;
    for (const made_log& one : made.logs) {
        const auto piece = read_log(one.path);
        RC_ASSERT(piece.size() == one.blocks);
        RC_ASSERT(piece.front().number == one.first);
        RC_ASSERT(piece.back().number == one.last);
        RC_ASSERT(std::filesystem::file_size(one.path) == one.bytes);
        seen.insert(seen.end(), piece.begin(), piece.end());
        from.push_back(one.path);
    }
    RC_ASSERT(seen == log.blocks);
    RC_ASSERT(std::ranges::is_sorted(from));
    for (std::size_t i = from.size(); i > 1; --i)
        std::swap(from[i - 1], from[*rc::gen::inRange<std::size_t>(0, i)]);
    (void)merge_logs({log.folder / name, from, true}, shown);
    RC_ASSERT(read_log(log.folder / name) == log.blocks);
    RC_ASSERT(digest(log.folder / name) == digest(log.path));
}

} // namespace

TEST_CASE("random cuts of random logs hold the blocks that a vector says") {
    check_property(60, 100, [] {
        const auto count = *rc::gen::inRange<std::size_t>(1, 80);
        const sample_log log(count, *rc::gen::inRange<std::uint32_t>(0, 600),
                             *rc::gen::arbitrary<std::uint32_t>());
        // The number of a block, or one between, before or behind them.
        const auto number = [&] {
            return *rc::gen::inRange<std::uint64_t>(995, log.blocks.back().number + 5);
        };
        const block_range range{number(), number()};
        std::vector<block> expected;
        for (const block& one : log.blocks)
            if (range.contains(one.number)) expected.push_back(one);
        const auto cut = log.folder / "cut";
        if (expected.empty()) {
            RC_ASSERT_THROWS_AS((void)trim_log(log.path, cut, range, shown), usage_error);
            RC_ASSERT(!std::filesystem::exists(cut));
            RC_ASSERT_THROWS_AS((void)digest_of(log.path, range, shown), usage_error);
        } else {
            (void)trim_log(log.path, cut, range, shown);
            RC_ASSERT(read_log(cut) == expected);
            RC_ASSERT(digest(cut) == digest(log.path, range));
        }
        const std::uint64_t every = *rc::gen::inRange<std::uint64_t>(1, 41);
        const auto equal = split_log({log.path, log.folder / "every", {}, every}, shown);
        for (std::size_t i = 0; i + 1 < equal.logs.size(); ++i)
            RC_ASSERT(equal.logs[i].blocks == every);
        check_pieces(log, equal, "merged");
        if (count > 1) {
            const auto inner = [&] {
                return log.blocks[*rc::gen::inRange<std::size_t>(1, count)].number;
            };
            const std::uint64_t at = inner();
            const std::uint64_t second = inner();
            const auto made = split_log({log.path, log.folder / "at", {at, second}, {}}, shown);
            RC_ASSERT(made.logs.size() == (at == second ? 2 : 3));
            RC_ASSERT(made.logs[1].first == std::min(at, second));
            check_pieces(log, made, "merged again");
        }
        RC_ASSERT(read_all(log.path) == log.whole);
    });
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

// --- calls beside each other ---

TEST_CASE("a log or folder that another call is making is left to it") {
    const temporary_folder folder;
    const auto path = folder / "log";
    auto first = std::make_unique<unfinished_log>(path, sample_chain);
    first->append({1, 3, {}});
    CHECK_THROWS_WITH(unfinished_log(path, sample_chain),
                      Contains("log.unfinished") && Contains("another call"));
    first->append({2, 6, {}});
    (void)first->finish();
    CHECK(read_log(path).size() == 2);
    std::filesystem::remove(path);
    unfinished_log second(path, sample_chain);
    first.reset(); // whose name it is no more
    second.append({1, 3, {}});
    (void)second.finish();
    CHECK(read_log(path).size() == 1);

    const auto pieces = folder / "pieces";
    auto making = std::make_unique<unfinished_folder>(pieces);
    write_all(making->piece(7), "a piece");
    CHECK_THROWS_AS(unfinished_folder(pieces), locked_error);
    CHECK(read_all(making->piece(7)) == "a piece");
    making->finish();
    std::filesystem::rename(pieces, folder / "elsewhere");
    unfinished_folder next(pieces);
    making.reset();
    next.finish();
    CHECK(std::filesystem::is_empty(pieces));
}

TEST_CASE("a file that appears under a log's name while it is made stays, and so do no leftovers") {
    const temporary_folder folder;
    {
        unfinished_log log(folder / "log", sample_chain);
        log.append({1, 3, {}});
        write_all(folder / "log", "precious");
        CHECK_THROWS_AS(log.finish(), usage_error);
    }
    CHECK(read_all(folder / "log") == "precious");
    CHECK(files_in(folder) == 1);
}

TEST_CASE("pieces are named so that their names sort as their blocks do") {
    const temporary_folder folder;
    const unfinished_folder pieces(folder / "pieces");
    CHECK(pieces.piece(9'999'999'999) < pieces.piece(10'000'000'000));
    CHECK(pieces.piece(999) < pieces.piece(UINT64_MAX));
}

// --- signals and full disks: nothing half done has a name that promises more ---

namespace {

/// Calls each of the tools that make a log from one of several records.
template <class Check>
void call_each(const sample_log& log, Check check) {
    const auto made = log.folder / "made";
    check([&] { (void)trim_log(log.path, made, {}, shown); });
    check([&] { (void)trim_log(log.path, made, {1004, UINT64_MAX}, shown); });
    check([&] { (void)merge_logs({made, {log.path}, false}, shown); });
    check([&] { (void)split_log({log.path, made, {}, 7}, shown); });
    check([&] { (void)salvage_log({log.path, made, {}}, shown); });
    check([&] { (void)salvage_log({log.path, {}, made}, shown); });
}

} // namespace

TEST_CASE("a signal ends the reading of a log that has no index") {
    const sample_log log(50, 100);
    log.remove_index();
    const captured_log quiet;
    {
        const catch_interruption signals;
        std::raise(SIGTERM);
        CHECK_THROWS_AS(open_log(log.path), interrupted_error);
    }
    CHECK(files_in(log.folder) == 2);
    const catch_interruption signals;
    CHECK(open_log(log.path).count() == 50);
    CHECK(files_in(log.folder) == 3);
}

TEST_CASE("a signal ends each tool, and what it had made is gone") {
    const sample_log log(50, 100);
    {
        const catch_interruption signals;
        std::raise(SIGTERM);
        call_each(log, [&](auto&& work) {
            CHECK_THROWS_AS(work(), interrupted_error);
            CHECK(files_in(log.folder) == 3); // the log, its index and its mark
        });
        CHECK_THROWS_AS(verify_log(log.path, false, shown), interrupted_error);
    }
    const catch_interruption forgets_it;
}

TEST_CASE("on a full disk each tool says so, and what it had made is gone") {
    const sample_log log(50, 100);
    const captured_log said; // stderr may be a file, too
    for (const std::uint64_t room : {std::uint64_t{30}, std::uint64_t{100}, log.whole.size() / 8}) {
        const file_size_limit limit(room);
        call_each(log, [&](auto&& work) {
            CHECK_THROWS_AS(work(), out_of_space_error);
            CHECK(files_in(log.folder) == 3);
        });
    }
    call_each(log, [&](auto&& work) {
        CHECK_NOTHROW(work());
        std::filesystem::remove_all(log.folder / "made");
        std::filesystem::remove(index_path(log.folder / "made"));
        std::filesystem::remove(synced_path(log.folder / "made"));
    });
    CHECK(read_log(log.path) == log.blocks);
}
