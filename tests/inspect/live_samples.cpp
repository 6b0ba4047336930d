#include <archive/statistics_page.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/memory/live_sample.hpp>

#include <catch2/catch.hpp>
#include <tests/inspect/exact.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/support/scratch_state.hpp>

#include <filesystem>
#include <thread>

using namespace chainbase;
using namespace chainbase::test;
using inspect::live_rates;
using inspect::live_sample;
using inspect::live_sampler;
using namespace std::chrono_literals;

namespace {

live_sample sample_at(std::chrono::seconds when, std::uint64_t changes, std::int64_t revision) {
    live_sample sample;
    sample.taken = std::chrono::steady_clock::time_point(when);
    sample.state.changes = changes;
    sample.state.revision = revision;
    return sample;
}

archive::published_statistics counted(std::int64_t opened, std::uint64_t finds,
                                      std::uint64_t rows) {
    archive::published_statistics all;
    all.process = 7;
    all.opened = opened;
    all.figures.hits_in_archive.count = finds;
    all.figures.misses.count = finds;
    all.figures.hits_in_memory.count = 1'000'000; // did not ask the archive
    all.figures.rows_put = rows;
    return all;
}

} // namespace

TEST_CASE("rates are what changed divided by the time between") {
    live_sample first = sample_at(10s, 1000, 50);
    live_sample second = sample_at(14s, 5000, 58);
    first.state.types.resize(1);
    second.state.types.resize(2); // one is new
    first.state.types[0].next_id = 100;
    second.state.types[0].next_id = 130;
    second.state.types[1].next_id = 10;
    first.state.header.file_bytes = 4096;
    second.state.header.file_bytes = 2048;
    first.archive = counted(1, 100, 30);
    second.archive = counted(1, 300, 70);
    const live_rates rates = live_rates::between(first, second);
    CHECK(rates.operations == 1000);
    CHECK(rates.revisions == 2);
    CHECK(rates.objects == 10);
    CHECK(rates.growth == -512);
    CHECK(rates.archive_finds == 100);
    CHECK(rates.archive_rows == 10);
}

TEST_CASE("rates of counters that began anew and of no time are zero") {
    const live_rates undone = live_rates::between(sample_at(1s, 9, 9), sample_at(2s, 3, 4));
    CHECK(undone.operations == 0);
    CHECK(undone.revisions == 0);
    const live_rates at_once = live_rates::between(sample_at(1s, 1, 1), sample_at(1s, 3, 4));
    CHECK(at_once.operations == 0);
    live_sample first = sample_at(1s, 1, 1);
    live_sample second = sample_at(2s, 1, 1);
    first.archive = counted(1, 10, 10);
    second.archive = counted(2, 300, 300); // was opened again
    CHECK(live_rates::between(first, second).archive_finds == 0);
    CHECK(live_rates::between(first, second).archive_rows == 0);
}

TEST_CASE("a sampler sees a state come, be written, left by a kill, and opened again") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    const live_sampler sampler(state);
    CHECK_THROWS_AS(sampler.take(), format_error);
    build_sample_state(state);
    const live_sample closed = sampler.take();
    CHECK(closed.state.condition == inspect::condition::closed);
    require_exact(closed.state);
    CHECK_FALSE(closed.locks.writer.is_alive);
    CHECK_FALSE(closed.archive);
    {
        writer_process writer(state);
        live_sample before = sampler.take();
        CHECK(before.state.condition == inspect::condition::writer_running);
        CHECK(before.locks.writer.is_alive);
        live_sample after = before;
        for (int i = 0; i < 400 && after.state.changes == before.state.changes; ++i) {
            std::this_thread::sleep_for(10ms);
            after = sampler.take();
        }
        CHECK(live_rates::between(before, after).operations > 0);
        writer.kill();
    }
    CHECK(sampler.take().state.condition == inspect::condition::writer_died);
    const std::int64_t revision = reopen_sample_state(state);
    CHECK(sampler.take().state.revision == revision);
    std::filesystem::remove_all(state);
    CHECK_THROWS_AS(sampler.take(), format_error);
}
