#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/json_lines.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/support/scratch_state.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using nlohmann::json;

TEST_CASE("top --json beside a writer: a line a look, in which figures move") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    writer_process writer(state);
    const outcome result =
        inspect_with("top " + state.string() + " --json --interval 0.3 --count 4 </dev/null");
    CHECK(result.code == 0);
    const std::vector<json> lines = json_lines_of(result.output);
    REQUIRE(lines.size() == 4);
    CHECK(result.output.starts_with("{\"schema_version\":1,\"state\":"));
    for (const json& line : lines) {
        CHECK(line.at("schema_version") == 1);
        CHECK(line.at("state") == state.string());
        CHECK(line.at("error").is_null());
        CHECK(line.at("condition") == "writer_running");
        REQUIRE(line.at("types").size() == 4);
        CHECK(line.at("types")[0].at("name") == "account");
        CHECK(line.at("types")[0].at("per_minute").at("objects").is_number());
        CHECK(line.at("archive").is_null());
        CHECK(line.at("archive_times").is_null());
        CHECK(line.at("checkpoints").is_array());
        CHECK(line.at("locks").at("writer_alive") == true);
    }
    CHECK(lines[0].at("rates").is_null());
    CHECK(lines[0].at("lock_looks").at("looks") == 0);
    CHECK(std::any_of(lines.begin() + 1, lines.end(),
                      [](const json& line) { return line.at("rates").at("operations") > 0; }));
    CHECK(lines[3].at("changes") > lines[0].at("changes"));
    CHECK(lines[3].at("lock_looks").at("looks") > 0);
    CHECK(lines[3].at("growth_seconds") > lines[1].at("growth_seconds"));
    CHECK(writer.stop());
}

TEST_CASE("top --json: a state that goes and comes is told, and a signal ends it well") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    const auto away = scratch / "away";
    build_sample_state(state);
    const outcome result =
        inspect_with("top " + state.string() + " --json --interval 0.1 & watcher=$!; sleep 1; mv " +
                     state.string() + " " + away.string() + "; sleep 1; mv " + away.string() + " " +
                     state.string() + "; sleep 1; kill -TERM $watcher; wait $watcher");
    CHECK(result.code == 0);
    bool was_gone = false;
    bool was_back = false;
    for (const json& line : json_lines_of(result.output)) {
        CHECK(line.at("schema_version") == 1);
        const bool is_gone = !line.at("error").is_null();
        was_back = was_back || (was_gone && !is_gone);
        was_gone = was_gone || is_gone;
    }
    CHECK(was_gone);
    CHECK(was_back);
}

TEST_CASE("top that was called wrongly: exit 2, no state: exit 1, nowhere to print: exit 1") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    const std::string call = "top " + state.string() + " --json ";
    for (const char* more : {"--interval 0", "--interval -1", "--interval nan", "--interval x",
                             "--interval 1e9", "--count 0", "--count x", "more"}) {
        INFO(more);
        CHECK(inspect_with(call + more + " >/dev/null 2>&1").code == 2);
    }
    CHECK(inspect_with("top " + (scratch / "none").string() + " --json 2>/dev/null").code == 1);
    CHECK(inspect_with(call + "--count 1 2>/dev/null >/dev/full").code == 1);
}
