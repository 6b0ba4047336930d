#include <tools/inspect/memory/stat.hpp>

#include <tests/inspect/exact.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/inspect/unchanged.hpp>
#include <tests/support/scratch_state.hpp>

#include <chrono>
#include <thread>

using namespace chainbase;
using namespace chainbase::test;

TEST_CASE("a state whose writer was killed is described, and left as it is") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    for (int kills = 0; kills < 8; ++kills) {
        {
            writer_process writer(state);
            std::this_thread::sleep_for(std::chrono::milliseconds(3 * kills));
            writer.kill();
        }
        const folder_image before = image_of(state);
        const inspect::state_report found = inspect::read_state(state);
        REQUIRE(found.condition == inspect::condition::writer_died);
        REQUIRE(image_of(state) == before);
        if (found.consistent) require_exact(found);
        const std::string text = inspect::as_text(found, std::nullopt);
        REQUIRE(text.find("died") != std::string::npos);

        const std::int64_t recovered = reopen_sample_state(state);
        const inspect::state_report after = inspect::read_state(state);
        REQUIRE(after.condition == inspect::condition::closed);
        REQUIRE(after.consistent);
        REQUIRE(after.revision == recovered);
        REQUIRE(recovered <= found.revision);
        require_exact(after);
    }
}
