#include <chainbase/check/state_check.hpp>
#include <chainbase/database.hpp>
#include <tools/inspect/look_at.hpp>
#include <tools/inspect/state/locks.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/inspect/unchanged.hpp>
#include <tests/support/scratch_state.hpp>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace {

json locks_of(const std::filesystem::path& state) {
    const outcome result = inspect_with("locks " + state.string() + " --json");
    REQUIRE(result.code == 0);
    return json::parse(result.output);
}

} // namespace

TEST_CASE("locks: nobody has a closed state open, and looking at it changes nothing") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    const folder_image before = image_of(state);
    const json found = locks_of(state);
    CHECK(found.at("writer").at("process") == getpid());
    CHECK(found.at("writer").at("alive") == false);
    CHECK(found.at("writer").at("state") == "idle");
    CHECK(found.at("readers").empty());
    CHECK(image_of(state) == before);
    CHECK_THAT(inspect_with("locks " + state.string()).output,
               Contains("writer     none") && Contains("readers    none"));
}

TEST_CASE("locks: who reads is named while the writer waits for it") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    writer_process writer(state);
    const database reader(state, quick_options(open_mode::read_only));
    reader.with_read_lock([&] {
        const json found = locks_of(state);
        CHECK(found.at("writer").at("process") == writer.process());
        CHECK(found.at("writer").at("alive") == true);
        REQUIRE(found.at("readers").size() == 1);
        const json& own = found.at("readers")[0];
        CHECK(own.at("process") == getpid());
        CHECK(own.at("thread") == gettid());
        CHECK(own.at("name") == "test_inspect");
        CHECK(own.at("alive") == true);
        CHECK(own.at("state") == "reading");
        CHECK(own.at("seconds").get<double>() >= 0);
        CHECK(own.at("slot") == 0);
        const std::string text = inspect_with("locks " + state.string()).output;
        CHECK_THAT(text, Contains("test_inspect") && Contains("reading"));
    });
    CHECK(locks_of(state).at("readers")[0].at("state") == "idle");
    CHECK(writer.stop());
}

TEST_CASE("locks: the dead are told from the living") {
    lock_report report;
    report.writer = {71, false, lock_report::doing::inside, 2.5};
    report.readers = {{0, 72, 73, "node", true, lock_report::doing::waiting, 2.25},
                      {4, 74, 74, "gone", false, lock_report::doing::inside, 1}};
    const std::string text = inspect::as_text({report, false});
    CHECK_THAT(text, Contains("process 71 died while it was writing, which it began 2.500 s ago"));
    CHECK_THAT(text, Contains("waiting  2.250 s"));
    CHECK_THAT(text, Contains("reading, and dead"));
    const json same = json::parse(inspect::as_json({report, true}));
    CHECK(same.at("writer").at("state") == "writing");
    CHECK(same.at("checked") == true);
    CHECK(same.at("readers")[1].at("alive") == false);
}

TEST_CASE("locks: a check that runs is visible, since it keeps writers out") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    CHECK(locks_of(state).at("checked") == false);
    {
        const check::state_check running(state);
        const json found = locks_of(state);
        CHECK(found.at("checked") == true);
        CHECK(found.at("writer").at("alive") == false);
        CHECK_THAT(inspect_with("locks " + state.string()).output,
                   Contains("somebody checks the state"));
    }
    const writer_process writer(state);
    CHECK(locks_of(state).at("checked") == false);
}

TEST_CASE("locks: who may not look is told so") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    std::string said;
    try {
        inspect::look_at(state.string(), [&]() -> int {
            throw std::filesystem::filesystem_error(
                "status", state / "lock", std::make_error_code(std::errc::permission_denied));
        });
    } catch (const access_error& e) {
        said = e.what();
    }
    CHECK_THAT(said, Contains((state / "lock").string()) && Contains("may not look at it"));
}

TEST_CASE("locks of a folder that is no state: exit 1 and a message that names it") {
    const scratch_folder scratch;
    const outcome result = inspect_with("locks " + scratch.path().string() + " 2>&1");
    CHECK(result.code == 1);
    CHECK_THAT(result.output, Contains(scratch.path().string()) && Contains("check the path"));
}
