// Comments that were paid are deleted, in memory or in the archive, and others take their
// permlinks. What comes out is the same with any archive, through kills and forks.

#include <tools/chains/social/operations.hpp>
#include <tools/driver/chain_state.hpp>

#include <catch2/catch.hpp>
#include <tests/support/random_source.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/generated_logs.hpp>

#include <chrono>
#include <map>
#include <thread>
#include <variant>

using namespace chainbase;
using namespace chainbase::test;
using nlohmann::json;

namespace {

generate::chain_options deleting_chain(std::uint64_t operations) {
    generate::chain_options options = social_chain(operations, test_seed(3));
    options.mix = deleting_mix();
    options.transactions_per_block = 1; // so that time passes, and they get paid
    options.paid_percent = 100;
    options.cash_out_percent = 1;
    return options;
}

bool is_deletion(const transaction& one) {
    return std::holds_alternative<social::comment_delete>(
        social::decode_operation(one.operations.front()));
}

std::size_t deletions_in(const std::vector<block>& blocks) {
    std::size_t count = 0;
    for (const block& one : blocks)
        count += static_cast<std::size_t>(std::ranges::count_if(one.transactions, is_deletion));
    return count;
}

std::vector<std::string> replay(const generated_log& log, const std::string& archive,
                                const std::string& state) {
    return {"replay", "--block-log", log.path(), "--state", log.folder / state,
            "--json", "--archive",   archive,    "--verify"};
}

/// What a replay says that was killed at random times, and went on, until it was `enough` times.
json replay_through_kills(const generated_log& log, const std::string& archive,
                          std::chrono::microseconds longest, int enough) {
    random_source random(test_seed(5));
    std::string state = archive;
    for (int killed = 0;;) {
        driver_process process(replay(log, archive, state));
        if (killed < enough) {
            std::this_thread::sleep_for(std::chrono::microseconds(
                random.below(static_cast<std::uint32_t>(longest.count()))));
            process.send(SIGKILL);
        }
        const driver_run run = process.wait();
        INFO(run.err);
        REQUIRE((run.was_killed() || run.code() == 0));
        if (run.was_killed())
            ++killed;
        else if (killed >= enough)
            return run.json();
        else
            state += "."; // too late: once more from the begin
    }
}

/// What it comes to when blocks are popped and applied again, up to as many as can be, all the way.
std::string digest_through_forks(const std::vector<block>& blocks, archive::store_kind kind,
                                 std::uint32_t deepest) {
    const temporary_folder folder(memory_or_disk());
    constexpr std::int64_t lag = 12;
    random_source random(test_seed(7));
    driver::promise_options promise;
    promise.archive = kind;
    driver::chain_state state(folder / "state", "social", lag, promise);
    while (state.head() < blocks.size()) {
        state.apply(blocks[state.head()]);
        if (deepest == 0 || !random.chance(100)) continue;
        for (std::uint32_t left = random.below(deepest + 1);
             left > 0 && state.head() > state.irreversible(); --left)
            state.pop();
    }
    state.finish();
    CHECK(state.model().verify().problem_count == 0);
    return state.model().state_digest();
}

} // namespace

TEST_CASE("permlinks that are taken again come to the same state with any archive, through kills") {
    const captured_log quiet;
    const generated_log log(deleting_chain(30'000));
    using clock = std::chrono::steady_clock;
    const auto begin = clock::now();
    const json expected = run_driver(replay(log, "none", "none")).json();
    const auto longest =
        std::chrono::duration_cast<std::chrono::microseconds>(clock::now() - begin);
    CHECK(expected["archived"]["comment"] == 0);
    for (const std::string archive : {"rocksdb", "memory"}) {
        CAPTURE(archive);
        const json said = replay_through_kills(log, archive, longest, 10);
        CHECK(said["state_digest"] == expected["state_digest"]);
        CHECK(said["archived"]["comment"] > 1000);
        CHECK(said["verified"]["objects"] == expected["verified"]["objects"]);
    }
}

TEST_CASE("forks pop deletions of what was archived, and what took its permlink") {
    const captured_log quiet;
    const std::vector<block> blocks = all_blocks(deleting_chain(20'000));
    CHECK(deletions_in(blocks) > 500);
    const std::string expected = digest_through_forks(blocks, archive::store_kind::none, 0);
    for (const auto kind :
         {archive::store_kind::rocksdb, archive::store_kind::memory, archive::store_kind::none}) {
        CAPTURE(archive::to_string(kind));
        CHECK(digest_through_forks(blocks, kind, 12) == expected);
    }
}
