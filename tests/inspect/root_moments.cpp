// root: of a state that is stale, a checkpoint, written at the moment, left behind, or moving.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <tests/inspect/rooted_state.hpp>
#include <tests/support/child_process.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using nlohmann::json;

TEST_CASE("root: a state that was written without its root is said to be so") {
    const rooted_state state;
    const std::string before = state.root().at("root");
    {
        database db(state.path(), quick_options());
        rooted_database::add_types(db);
        session one = db.start_session();
        db.modify(db.get(id<account>(17)), [](account& it) { it.balance = 5; });
        one.push();
    }
    const json found = state.root();
    CHECK(found.at("current") == false);
    CHECK(found.at("revision") == 2);
    CHECK(found.at("root_revision") == 1);
    CHECK(found.at("root") == before);
    const outcome text = state.run("root");
    CHECK(text.code == 0);
    CHECK_THAT(text.output, Contains("current   no: it is that of revision 1"));
    state.change([](rooted_database&) {}); // makes it anew
    CHECK(state.root().at("current") == true);
    CHECK(state.root().at("root") != before);
}

TEST_CASE("root: of checkpoints and beside a writer and after its death") {
    const rooted_state state(900, 100, with_checkpoints());
    const std::string first = state.root().at("root");
    std::string second;
    {
        rooted_database open(state.path(), with_checkpoints());
        open.add(50, 5);
        second = hex(open.root.root());
        CHECK(state.root().at("root") == second);
        CHECK(state.verified().at("sound") == true);
        const json saved = json::parse(
            inspect_with("root " + state.path() + "@checkpoint --verify --json").output);
        CHECK(saved.at("root") == first);
        CHECK(saved.at("objects") == 1000);
        CHECK(saved.at("verified").at("sound") == true);
    }
    const ending end = run_process([&] {
        rooted_database open(state.path(), with_checkpoints());
        session unfinished = open.db.start_session();
        open.db.remove(open.db.get(id<account>(3)));
        open.root.update(unfinished.revision());
        ::raise(SIGKILL);
    });
    REQUIRE(end.killed);
    const json found = state.root("--verify 2>/dev/null");
    CHECK(found.at("rolled_back") == true);
    CHECK(found.at("root") == second);
    CHECK(found.at("verified").at("sound") == true);
}

TEST_CASE("root: of a state that moves there is the root of a moment and nothing more") {
    constexpr int most_runs = 20;
    const rooted_state state(20'000, 0);
    rooted_database open(state.path());
    std::atomic<bool> is_over{false};
    std::thread writer([&] {
        for (std::uint32_t n = 0; !is_over; n = (n + 1) % 20'000)
            open.db.with_write_lock([&] {
                open.block([&] {
                    open.db.modify(open.db.get(id<account>(n)), [](account& it) { ++it.balance; });
                });
                open.db.commit(open.db.revision());
            });
    });
    int moved = 0;
    for (int run = 0; run < most_runs && moved == 0; ++run) {
        const outcome result =
            inspect_with("root " + state.path() + " --verify --json 2>/dev/null");
        const bool has_moved = result.code == 6;
        CHECK((has_moved || result.code == 0));
        const json found = json::parse(result.output);
        CHECK(found.at("moved") == has_moved);
        CHECK(found.at("root").get<std::string>().size() == 64);
        CHECK(found.at("root_revision") == found.at("revision"));
        CHECK(found.at("objects") == 20'000);
        CHECK(found.at("types").empty() == has_moved);
        CHECK(found.at("tree").is_null() == has_moved);
        CHECK(found.at("verified").is_null() == has_moved);
        moved += has_moved;
    }
    for (int run = 0; run < most_runs; ++run) {
        const outcome text = inspect_with("root " + state.path() + " --verify 2>&1");
        CHECK_THAT(text.output, Contains("root      ") && Contains("current   yes"));
        if (text.code == 0) continue;
        CHECK_THAT(text.output, Contains("objects   20,000\n") && !Contains("children") &&
                                    Contains("its writer changed it each time"));
        break;
    }
    is_over = true;
    writer.join();
    CHECK(moved == 1);
    CHECK(state.root().at("root") == hex(open.root.root()));
    CHECK(state.verified().at("sound") == true);
}
