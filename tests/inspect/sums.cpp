#include <tools/inspect/memory/stat.hpp>

#include <linux/magic.h>
#include <sys/vfs.h>
#include <tests/inspect/exact.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/inspect/unchanged.hpp>
#include <tests/support/scratch_state.hpp>

using namespace chainbase;
using namespace chainbase::test;

TEST_CASE("a closed state: every byte is accounted for, and every count is right") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    const sample_counts made = build_sample_state(state);

    const inspect::state_report found = inspect::read_state(state);
    CHECK(found.condition == inspect::condition::closed);
    CHECK(found.consistent);
    CHECK(found.discrepancies.empty());
    require_exact(found);
    CHECK(found.total().bytes.total + found.other_files == bytes_of_files(state / "segment"));
    CHECK(found.revision == made.revision);
    CHECK(found.irreversible_revision == made.irreversible);
    CHECK(found.sessions == static_cast<std::uint64_t>(made.revision - made.irreversible));
    CHECK(found.log.bytes.values > 0);

    REQUIRE(found.types.size() == 4);
    CHECK(found.types[0].name == "account");
    CHECK(found.types[0].objects == made.accounts);
    CHECK(found.types[0].keys.front() == "by_name (ordered_unique)");
    CHECK(found.types[1].objects == made.posts);
    CHECK(found.types[2].objects == made.tokens - made.removed_tokens);
    CHECK(found.types[2].next_id == made.tokens);
    CHECK(found.types[2].nodes.bytes.slots_free == made.removed_tokens);
    CHECK(found.types[3].objects == 0);
    CHECK(found.buffers_total().bytes.slots_live > made.posts);
}

TEST_CASE("what compaction gave back is told from what is there") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    const inspect::state_report before = inspect::read_state(state);
    compact_sample_state(state);
    const inspect::state_report after = inspect::read_state(state);
    require_exact(after);
    CHECK(after.sessions == 0);
    CHECK(after.log.bytes.values == 0);
    CHECK(after.types[2].nodes.bytes.slots_free == 0);
    CHECK(after.types[2].nodes.bytes.total < before.types[2].nodes.bytes.total);
    // Two pages of ids that are all removed; in memory they stay, since reading them would take
    // them.
    struct statfs where{};
    REQUIRE(::statfs(state.c_str(), &where) == 0);
    CHECK(after.types[2].ids.bytes.punched == (where.f_type == TMPFS_MAGIC ? 0 : 2 * 4096));
}

TEST_CASE("looking changes nothing") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    const folder_image before = image_of(state);
    const auto report = inspect::read_state(state);
    CHECK_FALSE(inspect::as_text(report, inspect::read_archive(state)).empty());
    CHECK(image_of(state) == before);
}

TEST_CASE("the tables name every type and print sums that hold") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    const std::string text = inspect::as_text(inspect::read_state(state), std::nullopt);
    for (const char* part : {"closed properly", "account", "post", "token", "marker", "1,000",
                             "every sum holds", "archive    none"}) {
        INFO(part);
        CHECK(text.find(part) != std::string::npos);
    }
}
