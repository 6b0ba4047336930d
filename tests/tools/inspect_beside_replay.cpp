#include <pool_allocator/error.hpp>
#include <tools/inspect/archive/archive.hpp>
#include <tools/inspect/memory/state_report.hpp>

#include <catch2/catch.hpp>
#include <tests/inspect/exact.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/real_logs.hpp>
#include <unistd.h>

#include <algorithm>

/// A replay as users run it, with an archive beside its state, looked at from outside.
using namespace chainbase;
using namespace chainbase::test;

TEST_CASE("a state and its archive are described while the driver replays into them") {
    const real_log log("steem-2016");
    const auto state = log.state();
    driver_process replay(log.replay());
    std::size_t running = 0;
    std::size_t rows = 0;
    std::int64_t revision = 0;
    while (replay.is_running()) {
        if (!std::filesystem::exists(state / "archive")) continue;
        inspect::state_report found;
        std::optional<inspect::archive_report> archived;
        try {
            found = inspect::read_state(state);
            archived = inspect::read_archive(state);
        } catch (const chainbase::error&) {
            continue; // not yet made, or just closing
        }
        if (found.condition != inspect::condition::writer_running) continue;
        REQUIRE(found.revision + 1 >= revision); // the last session is squashed into the one before
        revision = std::max(revision, found.revision);
        ++running;
        if (found.consistent) require_exact(found);
        if (!archived || !archived->refusal.empty()) continue;
        REQUIRE(archived->rows() >= rows);
        rows = archived->rows();
    }
    const driver_run ended = replay.wait();
    INFO(ended.err);
    REQUIRE(ended.code() == 0);
    CHECK(ended.json()["state_digest"] == digest_at_end(log.chain()));
    INFO(running << " looks, " << rows << " rows at last");
    CHECK(running > 10);
    CHECK(rows > 0);
    CHECK(inspect::read_archive(state)->rows() == 3566);
    CHECK(inspect::read_state(state).condition == inspect::condition::closed);
}
