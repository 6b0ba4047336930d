// A state that was closed has the pages that its last checkpoint has: nothing is found after random
// walks, whatever was undone and rolled back, and any flip is, whatever it means.

#include <chainbase/database.hpp>

#include <catch2/catch.hpp>
#include <tests/inspect/check_support.hpp>
#include <tests/support/checkpoints_on_disk.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/world.hpp>

#include <algorithm>

using namespace chainbase;
using namespace chainbase::test;

namespace fs = std::filesystem;

namespace {

walk_options walked_with_checkpoints() {
    walk_options options;
    options.how.promise = durability::checkpoint;
    options.how.checkpoints = {std::chrono::milliseconds(20), 0};
    return options;
}

/// A state that is closed with sessions that can be undone, or compacted without any.
void walk(const fs::path& state, random_source& random) {
    world all(state, walked_with_checkpoints());
    all.fill(random);
    for (std::uint64_t i = 0; i < short_test_operations(500); ++i)
        all.step(random);
    if (random.chance(500)) return;
    all.undo_all();
    all.compact();
}

/// What is said of the pages; empty if nothing is.
std::string said_of_pages(const check::state_check& done) {
    const check::part_report& pages = part_of(done.report(), "", "pages");
    std::string text;
    for (const check::finding& one : pages.findings)
        text += one.file + " at " + std::to_string(one.offset.value_or(0)) + ": " + one.what + "\n";
    return text;
}

} // namespace

TEST_CASE("the pages of a closed state are those of its checkpoint") {
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    random_source random(seed);
    const scratch_folder folder;
    for (int round = 0; round < 6; ++round) {
        const fs::path state = folder / std::to_string(round);
        walk(state, random);
        const check::state_check done(state);
        INFO(text_of(all_findings(done.report())));
        REQUIRE(done.report().found_in_all() == 0);
        REQUIRE(figure_of(part_of(done.report(), "", "pages"), "pages") > 40);
    }
    // A program that opens and closes it changes nothing.
    database(folder / "0", quick_options()).close();
    CHECK(said_of_pages(check::state_check(folder / "0")).empty());
}

TEST_CASE("a bit flipped anywhere in the pages of a closed state is found where it is") {
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    random_source random(seed);
    const scratch_folder folder;
    const fs::path state = folder / "state";
    walk(state, random);
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(state / "segment"))
        if (const std::string name = entry.path().filename();
            name != "header" && name != "catalogue.json" && name != "undo_log")
            names.push_back(name);
    std::ranges::sort(names);
    for (std::uint64_t i = 0; i < short_test_operations(100); ++i) {
        const std::string& name = names[random.below(static_cast<std::uint32_t>(names.size()))];
        const fs::path file = state / "segment" / name;
        const std::uint64_t bytes =
            fs::file_size(file) - 4096; // the first page has sums of its own
        const std::uint64_t bit = bytes == 0 ? 0 : 4096 * 8 + random.next() % (bytes * 8);
        if (bytes == 0) continue;
        INFO(name << ": bit " << bit);
        flip_bit(file, bit);
        const std::string said = said_of_pages(check::state_check(state));
        flip_bit(file, bit);
        CHECK(said.starts_with("segment/" + name + " at " + std::to_string(bit / 8) +
                               ": 1 byte(s) of the page"));
        CHECK(std::ranges::count(said, '\n') == 1);
    }
    CHECK(said_of_pages(check::state_check(state)).empty());
}

TEST_CASE("an object whose bytes were altered is not among those that survive") {
    const scratch_folder folder;
    const fs::path state = folder / "state";
    {
        database db(state, with_checkpoints());
        db.add_type<account>("account");
        for (std::uint32_t i = 0; i < 200; ++i)
            db.create<account>([&](account& a) {
                a.name = std::string_view(std::to_string(i));
                a.number = i;
            });
    }
    const fs::path file = state / "segment/account.objects";
    const std::uint32_t node =
        catalogue::read(state / "segment").find("account")->schema.node_bytes;
    flip_bit(file, (4096 + std::uint64_t{node} * 101 - 1) * 8); // the last byte of slot 100
    const auto survived = check::state_check(state).survived();
    REQUIRE(survived.size() == 1);
    CHECK(survived[0].objects == 200);
    CHECK(survived[0].whole == 199);
}

TEST_CASE("without the checkpoint that closing made pages are not compared and that is told") {
    const scratch_folder folder;
    const fs::path state = folder / "state";
    random_source random(test_seed(5));
    walk(state, random);
    fs::remove_all(state / "checkpoint");
    const check::state_check done(state);
    CHECK(done.report().found_in_all() == 0);
    CHECK(part_of(done.report(), "", "pages").not_checked.size() == 1);
}
