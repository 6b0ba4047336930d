// bisect beside writers: it never holds one up, and says nothing of a moment that is gone.
#include <tools/chains/chains.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/root_replays.hpp>
#include <tests/tools/two_runs.hpp>

#include <set>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using nlohmann::json;

TEST_CASE("bisect of states that are written ends, and so do their writers") {
    const real_log log("steem-2016");
    for (const char* name : {"a", "b"})
        replayed(log, with_root + arguments{"--stop-at", "3000"}, name);
    const std::string a = log.state("a");
    const std::string b = log.state("b");
    driver_process writing_a(log.replay({}, "a"));
    driver_process writing_b(log.replay({}, "b"));
    int looks = 0;
    int moved = 0;
    while (writing_a.is_running() && writing_b.is_running()) {
        driver_process forth({"bisect", a, b, "--json"}); // each would wait for the other's turn
        driver_process back({"bisect", b, a, "--json"});
        driver_process itself({"bisect", a, a, "--json"});
        for (driver_process* one : {&forth, &back, &itself}) {
            const driver_run run = one->wait();
            INFO(run.err << run.out);
            REQUIRE((run.code() == 0 || run.code() == 6));
            ++looks;
            if (run.code() != 6) continue;
            ++moved;
            CHECK(run.json()["moved"] == true);
            CHECK(run.json()["last_compared_block"] >= 3000); // the blocks are told all the same
            CHECK(run.json()["differs"].is_null());
        }
    }
    INFO(looks << " looks, " << moved << " of states that moved");
    CHECK(moved > 0);
    for (driver_process* one : {&writing_a, &writing_b}) {
        const driver_run run = one->wait();
        INFO(run.err);
        REQUIRE(run.code() == 0);
        CHECK(run.json()["state_root"]["root"] == root_at_end(log.chain()));
    }
    const driver_run same = run_driver({"bisect", a, b, "--json"});
    INFO(same.out);
    CHECK(same.code() == 0);
    CHECK(same.json()["a"]["objects_looked_at"] == same.json()["b"]["objects_looked_at"]);
}

TEST_CASE("bisect says that transactions wait on top of the last block of a state") {
    const captured_log quiet;
    const temporary_folder folder{memory_or_disk()};
    const auto path = (folder / "a").string();
    driver::promise_options promise;
    promise.root.types = std::set<std::string>{"all"};
    driver::chain_state state(path, "social", 12, promise);
    state.apply(first_block());
    for (std::uint64_t number = 2; number < 10; ++number)
        state.apply(deposit(number));
    CHECK(run_driver({"bisect", path, path}).code() == 0);
    const auto next = decoder_of("social")(encode_block(deposit(10)));
    state.begin_pending(next->timestamp());
    REQUIRE_FALSE(state.apply_pending(*next, 0));
    const driver_run waiting = run_driver({"bisect", path, path, "--json"});
    INFO(waiting.out << waiting.err);
    REQUIRE(waiting.code() == 6);
    CHECK(waiting.json()["differs"].is_null());
    CHECK(waiting.json()["a"]["pending"] == true);
    CHECK(waiting.json()["a"]["fault_count"] == 0);
    CHECK(waiting.json()["different_objects"] == 0);
    const driver_run text = run_driver({"bisect", path, path});
    CHECK_THAT(text.out, Contains("the roots of blocks 1 to 9 are the same") &&
                             Contains("transactions wait on top of its last block") &&
                             !Contains("a state changed each time"));
    state.drop_pending();
    CHECK(run_driver({"bisect", path, path}).code() == 0);
}
