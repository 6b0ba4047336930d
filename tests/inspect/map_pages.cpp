#include <chainbase/database.hpp>
#include <pool_allocator/trace_histogram.hpp>

#include <catch2/catch.hpp>
#include <tests/inspect/map_sums.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/scratch_state.hpp>

using namespace chainbase;
using namespace chainbase::test;

TEST_CASE("map: pages are told by what lies in them") {
    window_map file;
    file.kind = "buffers";
    file.bytes = 12 * 4096;
    file.slot_bytes = 1000;
    file.header_bytes = 4096;
    file.end = 10 * 4096;
    file.in_use.assign(12, 0);
    file.is_hole.assign(12, false);
    file.is_hole[8] = file.is_hole[11] = true;
    file.fill(0, 4096);
    file.fill(1 * 4096, 1);           // 1-25 %
    file.fill(2 * 4096, 1024);        // 1-25 %
    file.fill(3 * 4096, 1025);        // 26-50 %
    file.fill(4 * 4096, 3000);        // 51-75 %
    file.fill(5 * 4096 + 1, 4095);    // 76-99 %
    file.fill(6 * 4096, 4096 + 2048); // 100 %, and 26-50 % of the next one
    CHECK(file.fullness() == window_map::histogram{2, 2, 2, 1, 1, 1});
    CHECK(file.at(0) == window_map::page::header);
    CHECK(file.at(7) == window_map::page::used);
    CHECK(file.at(8) == window_map::page::punched);
    CHECK(file.at(9) == window_map::page::empty);
    CHECK(file.at(11) == window_map::page::never_used);
    CHECK(file.longest_free_run().first == 8);
    CHECK(file.longest_free_run().pages == 2);
    CHECK(file.bytes_in_use() == 1 + 1024 + 1025 + 3000 + 4095 + 4096 + 2048);
}

TEST_CASE("map: every slot and byte of a closed state is as stat counts it") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    const sample_counts made = build_sample_state(state);
    require_same(inspect::read_segment_map(state), inspect::read_state(state));

    remove_sample_posts(state);
    const segment_map found = inspect::read_segment_map(state);
    require_same(found, inspect::read_state(state));
    const window_map& runs = file_called(found, "buffers.runs");
    CHECK(runs.slots.free >= 40 + 30); // those of some other texts, too
    CHECK(runs.longest_free_run().pages == 40 + 30);
    CHECK(file_called(found, "token.objects").slots.free == made.removed_tokens);

    compact_sample_state(state);
    const segment_map compacted = inspect::read_segment_map(state);
    require_same(compacted, inspect::read_state(state));
    CHECK(file_called(compacted, "token.objects").slots.free == 0);
}

TEST_CASE("map: what was removed leaves empty pages and the rest as it was") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    const sample_counts made = build_sample_state(state);
    const segment_map found = inspect::read_segment_map(state);
    const window_map& tokens = file_called(found, "token.objects");
    const std::uint64_t end_of_free = 4096 + (made.removed_tokens + 1) * tokens.slot_bytes;
    // The first objects were removed; slot 0 is the container's own.
    const std::uint64_t empty = end_of_free / 4096 - 2;
    CHECK(tokens.fullness()[0] == empty);
    CHECK(tokens.longest_free_run().first == 2);
    CHECK(tokens.longest_free_run().pages == empty);
    CHECK(tokens.in_use[end_of_free / 4096] == 4096 - end_of_free % 4096);
    const window_map& ids = file_called(found, "token.ids");
    CHECK(ids.slots.free == made.removed_tokens);
    CHECK(ids.slots.used == made.tokens - made.removed_tokens);
    CHECK(ids.longest_free_run().pages == made.removed_tokens * 4 / 4096);
}

TEST_CASE("map: what an undone growth left in a table counts as never used") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    const auto create_tokens = [](database& db, std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i)
            db.create<token>([&](token& t) { t.code = i; });
    };
    {
        database db(state, quick_options());
        db.add_type<token>("token");
        {
            const auto undone = db.start_session();
            create_tokens(db, 3000);
        }
        create_tokens(db, 10);
    }
    const segment_map found = inspect::read_segment_map(state);
    require_same(found, inspect::read_state(state));
    const window_map& table = file_called(found, "token.0.hash");
    CHECK(table.slots.used == 10);
    CHECK(table.bytes > 2 * 4096);
    CHECK(table.bytes_never_used() == table.bytes - 2 * 4096);
    CHECK(file_called(found, "token.ids").slots.used == 10);
}
