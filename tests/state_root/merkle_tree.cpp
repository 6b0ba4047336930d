// The tree against its definition: whatever was added, changed, removed and undone, in whatever
// order and however it was cut into updates.
#include <chainbase/database.hpp>

#include <catch2/catch.hpp>
#include <tests/state_root/told_tree.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/scratch_state.hpp>

#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using state_root::leaf_change;

TEST_CASE("the root is the one that its definition gives after any changes and any undo") {
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    random_source random(seed);
    const scratch_folder folder;
    database db(folder / "state", quick_options());
    told_tree told(db);
    told.require_right();
    state_root::helpers helping(1);
    const std::uint64_t steps = test_operations(3'000);
    for (std::uint64_t step = 0; step < steps; ++step) {
        const std::uint32_t ids = step % 500 < 250 ? 2000 : 40; // it grows and shrinks
        const reference_leaves before = told.leaves();
        session block = db.start_session();
        const std::uint32_t most = random.chance(100) ? 600 : 60; // so many that they are shared
        told.update(random_changes(told, random, ids, most),
                    random.chance(500) ? &helping : nullptr);
        if (ids == 40 && random.chance(100)) {
            std::vector<leaf_change> all;
            for (std::uint32_t id = 40; id < 2000; ++id)
                if (random.chance(200)) all.push_back(told.gone(0, id));
            told.update(all);
        }
        if (random.chance(300)) {
            block.undo();
            told.leaves() = before;
        } else {
            block.push();
            if (random.chance(100)) db.commit(db.revision());
        }
        if (step % 10 == 0 || step + 1 == steps) told.require_right();
        if (step % 100 == 0) told.require_sound();
    }
    told.require_sound();
}

TEST_CASE("the root of one object and of none") {
    const scratch_folder folder;
    database db(folder / "state", quick_options());
    told_tree told(db);
    CHECK(told.tree().root() == sha256_digest{});
    told.update({told.gone(0, 7)});
    CHECK(told.tree().root() == sha256_digest{});
    told.update({told.exists(0, 7, 1)});
    told.require_right();
    CHECK(told.tree().size() == 1);
    told.update({told.gone(0, 7)});
    CHECK(told.tree().root() == sha256_digest{});
    told.require_sound();
}

TEST_CASE("an object in the place of one of another type with the same number is told from it") {
    const scratch_folder folder;
    database db(folder / "state", quick_options());
    told_tree told(db);
    std::uint32_t id = 0;
    while (state_root::digit(told.exists(0, id, 1).key, 0) !=
           state_root::digit(told.exists(1, id, 1).key, 0))
        ++id;
    told.update({told.exists(0, id, 1)});
    told.update({told.gone(0, id), told.exists(1, id, 1)});
    told.require_right();
    const auto key = told.exists(1, id, 1).key;
    const auto found = state_root::find_leaf(told.tree().nodes(), key);
    REQUIRE(found);
    CHECK(told.tree().nodes().type_name(found->type) == "post");
    CHECK_FALSE(state_root::find_leaf(told.tree().nodes(), told.exists(0, id, 1).key));
}
