// bisect beside writers: it never holds one up, and says nothing of a moment that is gone.
#include <catch2/catch.hpp>
#include <tests/tools/root_replays.hpp>

#include <string>

using namespace chainbase::test;
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
