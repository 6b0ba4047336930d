// Both checkpoints of a state: sound ones have no findings, also beside the writer that replaces
// them; a flip in any byte of what they name is found; what a restore would take is told.

#include <chainbase/check/checkpoint_check.hpp>
#include <chainbase/checkpoint/publication.hpp>
#include <chainbase/database.hpp>
#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <tests/inspect/account_block.hpp>
#include <tests/support/checkpoints_on_disk.hpp>
#include <tests/support/random_source.hpp>

#include <set>

using namespace chainbase;
using namespace chainbase::test;

namespace fs = std::filesystem;

namespace {

/// The slots that a publication names, those of its page tables, too.
std::set<std::uint64_t> slots_of(const checkpoint::publication& one, const fs::path& folder) {
    const checkpoint::slot_file file(disk::of_system(), folder / "pages", one.state,
                                     disk::mode::read);
    std::set<std::uint64_t> slots{0};
    for (const auto& each : one.files) {
        const checkpoint::page_table table(each, file);
        for (const auto& page : table.all())
            slots.insert(page.slot);
        for (const auto& leaf : table.leaves())
            slots.insert(leaf.slot);
    }
    return slots;
}

check::checked_checkpoints check_of(const fs::path& state) {
    return check::check_checkpoints(disk::of_system(), state);
}

} // namespace

TEST_CASE("checkpoints are checked beside the writer that makes them") {
    const scratch_folder folder;
    const fs::path state = folder / "state";
    database db(state, with_checkpoints());
    CHECK_THROWS_AS(check_of(state), format_error);
    db.add_type<account>("account");
    for (int i = 1; i <= 4; ++i) {
        add_accounts(db, 50);
        const auto made = db.make_checkpoint();
        const auto found = check_of(state);
        CHECK(found.report.found_in_all() == 0);
        REQUIRE(found.restorable() != nullptr);
        CHECK(found.restorable()->generation == made.generation);
        CHECK(found.restorable()->revision == db.revision());
        CHECK(found.publications.size() == (i == 1 ? 1 : 2));
    }
}

TEST_CASE("a bit flipped anywhere in a checkpoint is found") {
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    random_source random(seed);
    const scratch_folder folder;
    const fs::path state = folder / "state";
    {
        database db(state, with_checkpoints());
        db.add_type<account>("account");
        for (int i = 0; i < 3; ++i) {
            add_accounts(db, 50);
            (void)db.make_checkpoint();
        }
        db.abandon();
    }
    const fs::path at = state / "checkpoint";
    const checkpoint::published published(disk::of_system(), at);
    REQUIRE((published.newest() && published.older()));
    const auto newest = slots_of(*published.newest(), at);
    const auto older = slots_of(*published.older(), at);
    for (const char* name : {"published.0", "published.1", "pages"})
        for (std::uint64_t i = 0; i < short_test_operations(150); ++i) {
            const std::uint64_t bit = random.next() % (fs::file_size(at / name) * 8);
            const std::uint64_t slot = bit / 8 / 4096;
            const bool is_header = slot == 0 && bit / 8 >= 48; // behind what slot 0 says
            INFO(name << ": bit " << bit);
            flip_bit(at / name, bit);
            const auto found = check_of(state);
            flip_bit(at / name, bit);
            for (const check::finding& one : found.report.findings) {
                CHECK(one.file == std::string("checkpoint/") + name);
                REQUIRE(one.offset);
                if (name == std::string("pages")) CHECK(*one.offset / 4096 == slot);
            }
            if (name != std::string("pages")) {
                CHECK(found.report.found_in_all() != 0);
                CHECK(found.publications.size() == 1);
                continue;
            }
            const bool is_named = !is_header && (newest.contains(slot) || older.contains(slot));
            CHECK((found.report.found_in_all() != 0) == is_named);
            const auto* best = found.restorable();
            const auto generation = best ? best->generation : 0;
            if (is_named && slot != 0)
                CHECK(generation == (!newest.contains(slot)  ? published.newest()->generation
                                     : !older.contains(slot) ? published.older()->generation
                                                             : 0));
        }
    CHECK(check_of(state).report.found_in_all() == 0);
    fs::resize_file(at / "pages", 4096);
    CHECK(check_of(state).restorable() == nullptr);
    fs::remove(at / "pages");
    CHECK(check_of(state).restorable() == nullptr);
}

TEST_CASE("checkpoints of another state are found") {
    const scratch_folder folder;
    for (const char* name : {"one", "other"}) {
        database db(folder / name, with_checkpoints());
        db.add_type<account>("account");
        add_accounts(db, 50);
        (void)db.make_checkpoint();
    }
    fs::remove_all(folder / "one/checkpoint");
    fs::copy(folder / "other/checkpoint", folder / "one/checkpoint", fs::copy_options::recursive);
    const auto found = check_of(folder / "one");
    REQUIRE(found.report.findings.size() == 1);
    CHECK(found.report.findings.front().what.find("another state") != std::string::npos);
}
