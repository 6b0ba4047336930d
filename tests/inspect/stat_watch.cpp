#include <tools/inspect/memory/live_sample.hpp>
#include <tools/inspect/memory/stat.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <pty.h>
#include <sys/wait.h>
#include <tests/inspect/json_lines.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/support/scratch_state.hpp>
#include <unistd.h>

#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using inspect::growth_meter;
using inspect::state_growth;
using nlohmann::json;

namespace {

/// Runs chainbase-inspect with a terminal of its own as stdout.
outcome on_terminal(const std::vector<std::string>& arguments) {
    std::vector<const char*> words{"chainbase-inspect"};
    for (const std::string& word : arguments)
        words.push_back(word.c_str());
    words.push_back(nullptr);
    int terminal = -1;
    const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    if (child == 0) {
        ::execv(CHAINBASE_INSPECT_PROGRAM, const_cast<char**>(words.data()));
        ::_exit(127);
    }
    outcome result;
    char piece[4096];
    for (ssize_t got = 0; (got = ::read(terminal, piece, sizeof piece)) > 0;)
        result.output.append(piece, static_cast<std::size_t>(got));
    int status = 0;
    ::waitpid(child, &status, 0);
    ::close(terminal);
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return result;
}

inspect::state_report state_with(std::uint64_t objects, std::uint64_t used, std::uint64_t files) {
    inspect::type_report type;
    type.name = "account";
    type.objects = objects;
    type.nodes.bytes.values = used;
    type.nodes.file_bytes = files;
    inspect::state_report state;
    state.types.push_back(type);
    return state;
}

growth_meter::clock::time_point at(std::chrono::seconds when) {
    return growth_meter::clock::time_point(when);
}

} // namespace

TEST_CASE("growth is per minute, of the last minute, and may be negative") {
    growth_meter meter;
    CHECK(meter.add(state_with(100, 1000, 4096), at(0s)).seconds == 0);
    const state_growth soon = meter.add(state_with(200, 1600, 8192), at(6s));
    CHECK(soon.seconds == 6);
    REQUIRE(soon.types.size() == 1);
    CHECK(soon.types[0].name == "account");
    CHECK(soon.types[0].objects == 1000);
    CHECK(soon.types[0].used_bytes == 6000);
    CHECK(soon.types[0].file_bytes == 40960);
    CHECK(soon.whole.objects == 1000);
    for (int second = 7; second <= 65; ++second)
        (void)meter.add(state_with(200, 1600, 8192), at(std::chrono::seconds(second)));
    const state_growth later = meter.add(state_with(140, 1000, 4096), at(66s));
    CHECK(later.seconds == 60);
    CHECK(later.whole.objects == -60);
    CHECK(later.whole.used_bytes == -600);
    CHECK(later.whole.file_bytes == -4096);
    CHECK_THAT(inspect::as_text(later), Contains("-60") && Contains("-4,096"));
}

TEST_CASE("growth of a type that comes later begins with it") {
    growth_meter meter;
    (void)meter.add({}, at(0s));
    const state_growth found = meter.add(state_with(50, 500, 4096), at(60s));
    CHECK(found.types[0].objects == 0);
    CHECK(found.whole.objects == 50);
}

TEST_CASE("stat --watch prints as many JSON lines as were asked for and ends") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    const sample_counts made = build_sample_state(state);
    const outcome result = inspect_with("stat --count 2 --watch " + state.string());
    CHECK(result.code == 0);
    const std::vector<json> lines = json_lines_of(result.output);
    REQUIRE(lines.size() == 2);
    for (const json& line : lines) {
        CHECK(line.at("schema_version") == 1);
        CHECK(line.at("types").at(0).at("objects") == made.accounts);
    }
    CHECK_THAT(result.output, Catch::Matchers::StartsWith("{\"schema_version\":1,"));
    CHECK(lines[0].at("growth_per_minute").at("seconds") == 0);
    const json& growth = lines[1].at("growth_per_minute");
    CHECK(growth.at("seconds").get<double>() > 0.9);
    CHECK(growth.at("objects") == 0);
    CHECK(growth.at("types").size() == 4);
}

TEST_CASE("stat --watch beside a writer tells its growth and ends well at a signal") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    writer_process writer(state);
    const outcome result = inspect_with("stat " + state.string() +
                                        " --watch 1 --json & watcher=$!; sleep 3.5; "
                                        "kill -INT $watcher; wait $watcher");
    CHECK(result.code == 0);
    const std::vector<json> lines = json_lines_of(result.output);
    REQUIRE(lines.size() >= 2);
    CHECK(lines.back().at("condition") == "writer_running");
    CHECK(lines.back().at("log").at("changes") > lines.front().at("log").at("changes"));
}

TEST_CASE("stat --watch on a terminal is redrawn in place") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    const outcome result = on_terminal({"stat", state.string(), "--watch", "--count", "2"});
    CHECK(result.code == 0);
    CHECK_THAT(result.output, Catch::Matchers::StartsWith("\x1b[H"));
    CHECK_THAT(result.output, Contains("per minute") && Contains("every sum holds\x1b[K"));
    CHECK(result.output.find("\x1b[H", 3) != std::string::npos);
}

TEST_CASE("stat --watch that was called wrongly: exit 2") {
    for (const char* arguments :
         {"stat / --watch 0", "stat / --watch x", "stat / --count 2", "stat / --watch --count 0"}) {
        INFO(arguments);
        CHECK(inspect_with(std::string(arguments) + " >/dev/null 2>&1").code == 2);
    }
}
