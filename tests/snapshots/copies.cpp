// A copy of a state through a snapshot has what the state had at its newest block, and goes on.

#include <chainbase/object/mapped_bytes.hpp>
#include <chainbase/offline/check/state_check.hpp>
#include <chainbase/offline/snapshot_copy.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>

#include <catch2/catch.hpp>
#include <tests/snapshots/snapshot_oracle.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/operation_sequence.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/world.hpp>

#include <cstring>
#include <filesystem>
#include <functional>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

walk_options walking(std::uint32_t objects) {
    walk_options options;
    options.changes = {.objects = objects, .spread = 10};
    options.deep_every = UINT64_MAX;
    options.refusals_watched = 0;
    return options;
}

std::string first_finding(const check::part_report& part) {
    for (const check::finding& one : part.findings)
        return one.file + ": " + one.what;
    for (const check::part_report& below : part.parts)
        if (std::string found = first_finding(below); !found.empty()) return found;
    return "";
}

void require_sound(const fs::path& state) {
    const std::string found = first_finding(check::state_check(state).report());
    expect(found.empty(), found);
}

/// Throws mismatch unless a state has that content and nothing to undo, is sound, and can be
/// changed and rolled back.
void require_good_copy(const fs::path& copy, std::uint64_t digest, revision_number revision,
                       random_source& random) {
    require_sound(copy);
    {
        world w(copy, walking(40));
        expect(w.db().revision() == revision, "another revision");
        expect(w.db().committed_revision() == revision, "something can be undone");
        expect(digest_of(w.db()) == digest, "another content");
        check_keys_of(w.db());
        for (int step = 0; step < 300; ++step)
            w.step(random);
        w.check(random);
        w.undo_all();
    }
    require_sound(copy);
}

segment_header header_of(const fs::path& state) {
    return chainbase::detail::header_in(state / "segment").value();
}

/// A block with some changes.
void push_block(world& w, random_source& random) {
    w.start();
    for (int change = 0; change < 20; ++change)
        w.change_unchecked(random);
    w.push();
}

} // namespace

TEST_CASE("copies have what the state was at its newest block, and can be worked with") {
    const std::uint64_t seed = test_seed(910);
    std::uint64_t copies = 0;
    for (const std::uint32_t objects : {5, 40, 400})
        check_random_operations(
            seed + objects, test_operations(6'000) / 3, [&](operation_sequence& steps) {
                const scratch_folder folder;
                random_source random(seed);
                walk_options options = walking(objects);
                options.changes.tell = steps.tell();
                world w(folder / "state", options);
                block_key newest{};
                std::uint64_t digest = 0;
                while (steps.next(random)) {
                    w.step(random);
                    if (const block_key now = newest_block(w.db().memory()); now != newest) {
                        newest = now;
                        digest = digest_of(w.db());
                    }
                    if (!random.chance(15)) continue;
                    const auto made = snapshot_copy(folder / "state").make(folder / "copy", {});
                    require_good_copy(folder / "copy", digest, made.revision, random);
                    remove_tree(folder / "copy");
                    ++copies;
                }
            });
    CHECK(copies > 20);
}

TEST_CASE("a copy is of the block at which it began, whatever is written meanwhile") {
    const scratch_folder folder;
    random_source random(test_seed(920));
    world w(folder / "state", walking(3'000));
    for (int block = 0; block < 500; ++block) {
        push_block(w, random);
        if (w.depth() > 3) w.commit(1);
    }
    const std::uint64_t digest = digest_of(w.db());
    const revision_number revision = w.db().revision();
    snapshot_copy source(folder / "state");
    unsigned told = 0;
    std::uint64_t last = 0;
    const auto made = source.make(folder / "copy", [&](std::uint64_t done, std::uint64_t all) {
        ++told;
        CHECK((done > last && done <= all));
        last = done;
        push_block(w, random);
        if (told % 3 == 0) {
            push_block(w, random);
            w.undo(); // not its block
        }
    });
    CHECK(told > 10);
    CHECK(made.revision == revision);
    CHECK(digest_of(w.db()) != digest);
    require_good_copy(folder / "copy", digest, revision, random);
}

TEST_CASE("a copy begins again when its block is undone, and fails if that goes on") {
    const scratch_folder folder;
    random_source random(test_seed(930));
    world w(folder / "state", walking(50));
    for (int block = 0; block < 30; ++block)
        push_block(w, random);
    snapshot_copy source(folder / "state");
    const auto go_back = [&] {
        w.undo();
        w.undo();
        push_block(w, random);
    };
    SECTION("once") {
        bool is_first = true;
        const auto made = source.make(folder / "copy", [&](std::uint64_t, std::uint64_t) {
            if (std::exchange(is_first, false)) go_back();
        });
        CHECK(made.revision == 29);
        require_good_copy(folder / "copy", digest_of(w.db()), made.revision, random);
    }
    SECTION("always") {
        std::string said;
        try {
            (void)source.make(folder / "copy", [&](std::uint64_t, std::uint64_t) { go_back(); });
        } catch (const too_old_error& e) {
            said = e.what();
        }
        CHECK_THAT(said, Contains("snapshot_log_bytes") && Contains("chainbase-driver backup"));
    }
}

TEST_CASE("a copy is a closed state of its own, with the limits of the other one") {
    const scratch_folder folder;
    random_source random(test_seed(940));
    walk_options options = walking(100);
    options.how.window_bytes = std::size_t{48} << 20;
    options.how.windows = 133;
    {
        world w(folder / "state", options);
        for (int block = 0; block < 50; ++block)
            push_block(w, random);
    }
    const auto made = snapshot_copy(folder / "state").make(folder / "copy", {});
    CHECK(made.revision == 50);
    const segment_header from = header_of(folder / "state");
    const segment_header to = header_of(folder / "copy");
    CHECK(to.window_bytes == from.window_bytes);
    CHECK(to.windows == from.windows);
    CHECK(to.identity != from.identity);
    CHECK((to.clean == 1 && to.synced == 1)); // so it is believed after a restart, too
    std::uint64_t objects = 0;
    {
        database db(folder / "state", quick_options(open_mode::read_only));
        for (const auto& type : db.memory().windows())
            objects += rows::copy_at<pool_state>(type->objects->root()).live - 1;
        CHECK(made.types == db.memory().windows().size());
    }
    CHECK(made.objects == objects);
    CHECK(made.bytes > 0);
    CHECK_THROWS_AS(snapshot_copy(folder / "none"), format_error);
    CHECK_THROWS_AS(snapshot_copy(folder / "state").make(folder / "copy", {}), usage_error);
}

TEST_CASE("a copy has no area that a table has outgrown") {
    const scratch_folder folder;
    random_source random(test_seed(950));
    world w(folder / "state", walking(600));
    w.start(); // which keeps all areas
    w.fill(random);
    w.push();
    (void)snapshot_copy(folder / "state").make(folder / "copy", {});
    const mapped_segment& of = w.db().memory();
    std::size_t outgrown = 0;
    {
        database copy(folder / "copy", quick_options(open_mode::read_only));
        for (std::size_t type = 0; type < of.windows().size(); ++type)
            for (std::size_t number = 0; number < of.windows()[type]->tables.size(); ++number) {
                const window& before = *of.windows()[type]->tables[number];
                const window& after = *copy.memory().windows()[type]->tables[number];
                CHECK(after.bytes() == before.bytes());
                CHECK(after.held_bytes() == window_header::page_bytes + after.bytes() / 2);
                if (before.held_bytes() > after.held_bytes()) ++outgrown;
            }
    }
    CHECK(outgrown > 0);
    require_good_copy(folder / "copy", digest_of(w.db()), w.db().revision(), random);
}
