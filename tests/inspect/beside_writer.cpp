#include <tests/inspect/exact.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/support/scratch_state.hpp>

#include <chrono>
#include <string>

using namespace chainbase;
using namespace chainbase::test;

TEST_CASE("beside a writer every consistent sample sums exactly") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    const std::uint64_t at_first = inspect::read_state(state).changes;

    writer_process writer(state);
    constexpr std::uint64_t operations_wanted = 20'000;
    std::uint64_t operations = at_first;
    std::size_t samples = 0;
    std::size_t consistent = 0;
    // How many samples are consistent depends on the load; that there are any, does not.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (operations < at_first + operations_wanted || samples < 200 || consistent == 0) {
        INFO(samples << " samples, " << consistent << " consistent, " << operations
                     << " operations");
        REQUIRE(std::chrono::steady_clock::now() < deadline);
        const inspect::state_report found = inspect::read_state(state);
        ++samples;
        REQUIRE(found.condition == inspect::condition::writer_running);
        REQUIRE(found.writer == std::to_string(writer.process()));
        REQUIRE(found.changes >= operations);
        operations = found.changes;
        if (!found.consistent) continue;
        ++consistent;
        REQUIRE(found.discrepancies.empty());
        require_exact(found);
        REQUIRE(found.irreversible_revision <= found.revision);
    }

    REQUIRE(writer.stop());
    const inspect::state_report closed = inspect::read_state(state);
    CHECK(closed.condition == inspect::condition::closed);
    CHECK(closed.consistent);
    require_exact(closed);
}
