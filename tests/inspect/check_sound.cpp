// A state that nothing happened to has no findings: after random walks, closed, killed and
// compacted; and what is counted is what is there.

#include <chainbase/database.hpp>
#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <tests/inspect/check_support.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/inspect/unchanged.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/world.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <thread>

using namespace chainbase;
using namespace chainbase::test;

namespace {

struct by_place;
struct by_height;

/// Has a tree and no table.
struct visit {
    chainbase::id<visit> id;
    std::array<std::uint8_t, 4> place{};
    std::int16_t height = 0;
    bool is_known = false;

    using keys = chainbase::keys<ordered_unique<by_place, &visit::place, &visit::height>,
                                 ranked_non_unique<by_height, descending<&visit::height>>>;
    BOOST_DESCRIBE_CLASS(visit, (), (id, place, height, is_known), (), ())
};

void require_sound(const check::state_check& done) {
    INFO(text_of(all_findings(done.report())));
    REQUIRE(done.report().found_in_all() == 0);
    for (const check::survivors& each : done.survived())
        REQUIRE(each.whole == each.objects);
}

} // namespace

TEST_CASE("a random walk leaves nothing to find") {
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    random_source random(seed);
    const scratch_folder folder;
    world all(folder / "state");
    all.fill(random);
    for (int round = 0; round < 8; ++round) {
        for (std::uint64_t i = 0; i < short_test_operations(400); ++i)
            all.step(random);
        const auto copy = folder / "copy"; // as a kill leaves it: sessions are open
        std::filesystem::copy(folder / "state", copy, std::filesystem::copy_options::recursive);
        const check::state_check done(copy);
        CHECK(done.condition() == check::condition::writer_died);
        require_sound(done);
        CHECK(done.log().undone <= all.depth());
        std::filesystem::remove_all(copy);
    }
    CHECK_THROWS_AS(check::state_check(folder / "state"), locked_error);
}

TEST_CASE("what is counted is what is there, and looking changes nothing") {
    const scratch_folder folder;
    const auto state = folder / "state";
    const sample_counts made = build_sample_state(state);
    const folder_image before = image_of(state);
    {
        const check::state_check done(state);
        require_sound(done);
        CHECK(done.condition() == check::condition::closed);
        CHECK(done.log().revision == made.revision);
        CHECK(done.log().irreversible_revision == made.irreversible);
        CHECK(done.log().undone == 0);
        CHECK_THROWS_AS(reopen_sample_state(state), locked_error); // nobody may write meanwhile
        const auto& report = done.report();
        CHECK(figure_of(part_of(report, "account", "objects"), "live") == made.accounts);
        for (const char* key : {"by_name", "by_balance", "by_group", "by_distance"})
            CHECK(figure_of(part_of(report, "account", key), "nodes") == made.accounts);
        CHECK(figure_of(part_of(report, "account", "by_number"), "entries") == made.accounts);
        CHECK(figure_of(part_of(report, "post", "by_author"), "entries") == 10);
        CHECK(figure_of(part_of(report, "post", "by_author"), "objects") == made.posts);
        CHECK(figure_of(part_of(report, "token", "ids"), "given") == made.tokens);
        CHECK(figure_of(part_of(report, "token", "ids"), "objects") ==
              made.tokens - made.removed_tokens);
        CHECK(figure_of(part_of(report, "marker", "objects"), "live") == 0);
        CHECK(part_of(report, "account", "by_distance").not_checked.size() == 1);
        CHECK(part_of(report, "account", "by_name").not_checked.empty());
        CHECK(figure_of(part_of(report, "", "undo_log"), "sessions") ==
              static_cast<std::uint64_t>(made.revision - made.irreversible));
    }
    CHECK(image_of(state) == before);
    compact_sample_state(state);
    require_sound(check::state_check(state));
}

TEST_CASE("a state whose writer was killed is checked as the next opening leaves it") {
    const scratch_folder folder;
    const auto state = folder / "state";
    build_sample_state(state);
    for (int kills = 0; kills < 8; ++kills) {
        {
            writer_process writer(state);
            CHECK_THROWS_AS(check::state_check(state), locked_error);
            std::this_thread::sleep_for(std::chrono::milliseconds(3 * kills));
            writer.kill();
        }
        const folder_image before = image_of(state);
        std::int64_t revision = 0;
        {
            const check::state_check done(state);
            require_sound(done);
            CHECK(done.condition() == check::condition::writer_died);
            revision = done.log().revision;
        }
        CHECK(image_of(state) == before);
        CHECK(reopen_sample_state(state) == revision);
    }
}

TEST_CASE("a type without a hashed key, and keys of arrays and small numbers") {
    const scratch_folder folder;
    {
        database db(folder / "state", quick_options());
        db.add_type<visit>("visit");
        random_source random(test_seed(3));
        for (std::uint8_t i = 0; i < 200; ++i)
            db.create<visit>([&](visit& v) {
                v.place = {static_cast<std::uint8_t>(random.below(256)), 7, i, 1};
                v.height = static_cast<std::int16_t>(static_cast<int>(random.below(200)) - 100);
            });
    }
    const check::state_check done(folder / "state");
    require_sound(done);
    CHECK(part_of(done.report(), "visit", "by_place").not_checked.empty());
    CHECK(figure_of(part_of(done.report(), "visit", "by_height"), "nodes") == 200);
}
