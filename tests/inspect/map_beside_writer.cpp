#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/map_sums.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/inspect/unchanged.hpp>
#include <tests/support/scratch_state.hpp>

#include <chrono>

using namespace chainbase;
using namespace chainbase::test;

TEST_CASE("map beside a writer: the sums hold in every sample") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    writer_process writer(state);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(8);
    for (int samples = 0; samples < 5 || std::chrono::steady_clock::now() < end; ++samples) {
        const segment_map found = inspect::read_segment_map(state);
        REQUIRE(found.condition == inspect::condition::writer_running);
        REQUIRE((!found.consistent || found.discrepancies.empty()));
        for (const window_map& each : found.windows)
            require_sums(each);
    }
    REQUIRE(writer.stop());
    require_same(inspect::read_segment_map(state), inspect::read_state(state));
}

TEST_CASE("map of a state whose writer was killed: it is described and left as it is") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    for (int kills = 0; kills < 5; ++kills) {
        {
            writer_process writer(state);
            writer.kill();
        }
        const folder_image before = image_of(state);
        const outcome result = inspect_with("map " + state.string() + " --json");
        REQUIRE(result.code == 0);
        CHECK(nlohmann::json::parse(result.output).at("condition") == "writer_died");
        for (const window_map& each : inspect::read_segment_map(state).windows)
            require_sums(each);
        CHECK(image_of(state) == before);
    }
    reopen_sample_state(state);
    require_same(inspect::read_segment_map(state), inspect::read_state(state));
}
