// What the driver's options switch on.

#include <archive/store.hpp>
#include <chainbase/database.hpp>
#include <chainbase/files.hpp>
#include <pool_allocator/error.hpp>
#include <tools/driver/observation.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/state_files.hpp>
#include <tests/trace/exposition.hpp>
#include <tests/trace/found.hpp>
#include <tests/trace/http_client.hpp>

#include <chrono>
#include <sstream>
#include <thread>

using namespace chainbase;
using namespace chainbase::test;
using driver::observation;
using driver::observation_options;

namespace {

std::uint16_t port_of(const observation& watched) {
    const std::string at = watched.metrics_address();
    return static_cast<std::uint16_t>(std::stoi(at.substr(at.rfind(':') + 1)));
}

/// Sites and metrics that a node has: those of the engine, and of a store.
void touch_engine(const scratch_folder& folder) {
    database state(folder / "state");
    const auto rows = archive::open_store(folder / "archive");
    rows->sync();
    state.start_session().push();
    state.commit(state.revision());
    state.with_write_lock([] {});
    state.close();
}

} // namespace

TEST_CASE("without options nothing is watched") {
    CHECK_FALSE(trace::enabled());
    observation watched(observation_options{});
    CHECK_FALSE(trace::enabled());
    CHECK(watched.metrics_address().empty());
}

TEST_CASE("the options reach the reporters, and tracing ends with them") {
    const scratch_folder folder;
    observation_options options;
    options.trace_file = folder / "t.json";
    options.trace_log = folder / "log";
    options.metrics = ":0";
    const trace::gauge level("test.observed.level");
    {
        observation watched(options);
        CHECK(trace::enabled());
        touch_engine(folder);
        level.set(42);
        exposition page(body_of(http_get(port_of(watched), "/metrics")));
        CHECK(page.values.at("chainbase_test_observed_level") == 42);
        CHECK(page.values.at("chainbase_spans_total{span=\"chainbase.open\"}") >= 1);
        CHECK(page.values.at("chainbase_process_resident_bytes") > 1'000'000);
    }
    CHECK_FALSE(trace::enabled());
    const auto events = nlohmann::json::parse(read_all(folder / "t.json"));
    CHECK(std::ranges::any_of(events,
                              [](const auto& e) { return e.at("name") == "chainbase.open"; }));
    bool opened = false;
    nlohmann::json line;
    std::istringstream lines(read_all(folder / "log"));
    for (std::string text; std::getline(lines, text);) {
        line = nlohmann::json::parse(text);
        opened = opened || line.at("spans").contains("chainbase.open");
    }
    CHECK(opened);
    CHECK(line.at("gauges").at("test.observed.level") == 42.0);
}

TEST_CASE("what cannot be watched is told before the work begins") {
    const scratch_folder folder;
    write_all(folder / "there", "mine");
    observation_options options;
    options.trace_file = folder / "there";
    CHECK_THROWS_AS(observation(options), usage_error);
    options = {};
    options.metrics = "nowhere";
    CHECK_THROWS_AS(observation(options), usage_error);
    options.metrics = "192.0.2.1:0"; // of no machine
    CHECK_THROWS_AS(observation(options), io_error);
    CHECK_FALSE(trace::enabled());
    CHECK(read_all(folder / "there") == "mine");
}

TEST_CASE("the options on a command line") {
    CLI::App verb;
    observation_options options;
    driver::add_observation_options(verb, options);
    verb.parse("--trace a --trace-log b --metrics 127.0.0.1:1");
    CHECK(options.trace_file == "a");
    CHECK(options.trace_log == "b");
    CHECK(options.metrics == "127.0.0.1:1");
    CHECK(options.wanted());
}
