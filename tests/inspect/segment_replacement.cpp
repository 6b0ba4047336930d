// Whoever comes in between while a segment is made anew for a state: nothing is lost.
#include <chainbase/bulk_load/segment_replacement.hpp>
#include <chainbase/database.hpp>
#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <tests/inspect/maintenance_support.hpp>
#include <tests/support/random_source.hpp>

#include <filesystem>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

TEST_CASE("the verbs that change a state leave alone one that is open or was left by a kill") {
    const sample state;
    writer_process writer(state.path());
    for (const char* verb : {"compact --commit", "resize --windows 500", "repair --yes"}) {
        const std::string call(verb);
        const auto blank = call.find(' ');
        const outcome result = state.run(call.substr(0, blank), call.substr(blank));
        INFO(call << ": " << result.output);
        CHECK(result.code == 1);
        CHECK_THAT(result.output, Contains("open for writing"));
    }
    writer.kill();
    CHECK(state.run("compact", "--commit").code == 1);
    CHECK_THAT(state.run("compact", "--commit").output, Contains("died"));
}

TEST_CASE("a state that was opened while its segment was made anew stays as it is") {
    const with_checkpoint state;
    const bool changes = GENERATE(true, false);
    bulk_load::segment_replacement replacement(state.path());
    {
        bulk_load::new_state made(replacement.folder(), replacement.limits());
        made.close(1);
    }
    {
        database db(state.path(), with_checkpoints());
        db.add_type<account>("account");
        if (changes) {
            add_accounts(db, 1);
            db.close();
        } else {
            CHECK_THROWS_AS(replacement.replace(), locked_error);
            db.abandon();
        }
    }
    const std::string content = changes ? state.content() : "";
    CHECK_THROWS_AS(replacement.replace(), locked_error);
    if (changes) CHECK(state.content() == content);
}

TEST_CASE("one segment at a time is made for a state and looking does not disturb it") {
    const with_checkpoint state;
    const std::string before = state.content();
    bulk_load::segment_replacement first(state.path());
    CHECK_THROWS_AS(bulk_load::segment_replacement(state.path()), locked_error);
    bulk_load::new_state made(first.folder(), first.limits());
    CHECK(state.run("compact").code == 1);
    CHECK(state.run("repair").code == 0);
    made.close(1);
    CHECK(fs::exists(first.folder() / "segment"));
    CHECK(state.content() == before);
}

TEST_CASE("a compaction that is killed at any moment leaves the state whole") {
    const std::uint64_t seed = test_seed(91);
    INFO("seed " << seed);
    random_source random(seed);
    const with_checkpoint state(20'000);
    const std::string content = state.content();
    int ended = 0;
    for (int round = 0; round < 25; ++round) {
        const outcome result = inspect_with("compact " + state.path() + " --json & sleep 0.0" +
                                            std::to_string(10 + random.below(90)) +
                                            "; kill -9 $! 2>/dev/null; wait $!");
        ended += result.output.find("\"done\":true") != std::string::npos;
        {
            database db(state.path(), with_checkpoints());
            db.add_type<account>("account");
            REQUIRE(db.count<account>() == 10'000);
        }
        REQUIRE(state.content() == content);
        state.require_sound();
    }
    WARN("seed " << seed << ": " << ended << " of 25 ended before they were killed");
}
