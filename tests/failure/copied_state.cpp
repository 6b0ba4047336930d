// States that were copied or restored by a copy while a writer had them open, so that their pages
// are of different times.

#include <chainbase/segment/log_witness.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <tests/failure/sample_states.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <utility>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

namespace fs = std::filesystem;

namespace {

constexpr auto all_of_it = fs::copy_options::recursive | fs::copy_options::overwrite_existing;

void add_item(database& db, std::uint32_t key) {
    auto block = db.start_session();
    db.create<item>([&](item& made) { made.key = key; });
    block.push();
}

/// A state copied while its writer had it open, at revision 2.
struct copied_state {
    /// The writer runs `then` and dies.
    explicit copied_state(const open_options& with, const std::function<void(database&)>& then = {})
        : how(with) {
        database db(state, how);
        db.add_type<item>("item");
        add_item(db, 1);
        if (how.durability != durability::process) (void)db.make_checkpoint();
        add_item(db, 2);
        fs::copy(state, copy, all_of_it);
        if (then) then(db);
        db.abandon();
    }
    [[nodiscard]] opening open(const fs::path& which) const {
        database db(which, how);
        db.add_type<item>("item");
        CHECK(db.count<item>() == static_cast<std::size_t>(db.revision()));
        return db.opened();
    }

    scratch_folder folder;
    fs::path state = folder / "state";
    fs::path copy = folder / "copy";
    open_options how;
};

} // namespace

TEST_CASE("a copy of a state that was open does not pass for one whose writer died") {
    const copied_state s(quick_options());
    CHECK_THROWS_AS(s.open(s.copy), unclean_error);
    CHECK_THROWS_WITH(s.open(s.copy), Contains("a copy that was made while the state was open") &&
                                          Contains("repair --from copy"));
    CHECK_THROWS_AS(database(s.copy, quick_options(open_mode::read_only)), unclean_error);
    CHECK(s.open(s.state).how == opening::way::rolled_back);
    fs::remove_all(s.copy);
    fs::copy(s.state, s.copy, all_of_it); // closed now
    CHECK(s.open(s.copy).how == opening::way::attached);
}

TEST_CASE("a copy of a state that was open goes on from its checkpoint") {
    const copied_state s(with_checkpoints());
    const opening found = s.open(s.copy);
    CHECK(found.how == opening::way::restored);
    CHECK(found.revision == 1);
    CHECK_THAT(found.why, Contains("a copy that was made while the state was open"));
}

TEST_CASE("what was put back over a state that was open does not pass for it") {
    const copied_state s(quick_options(), [](database& db) { add_item(db, 3); });
    fs::copy(s.copy, s.state, all_of_it); // the same files with their earlier content
    CHECK_THROWS_WITH(s.open(s.state), Contains("put back") && Contains("repair --from copy"));
}

TEST_CASE("what was put back over a state that was closed meanwhile does not pass for it") {
    const copied_state s(quick_options());
    CHECK(s.open(s.state).how == opening::way::rolled_back); // and closed
    fs::copy(s.copy, s.state, all_of_it);
    CHECK_THROWS_WITH(s.open(s.state), Contains("put back") && Contains("repair --from copy"));
}

TEST_CASE("what was put back is the state itself if nobody wrote since it was copied") {
    const copied_state s(quick_options());
    fs::copy(s.copy, s.state, all_of_it);
    CHECK(s.open(s.state).how == opening::way::rolled_back);
}

TEST_CASE("a closed copy may be put back over a state whose writer died") {
    const copied_state s(quick_options());
    (void)s.open(s.state);
    fs::copy(s.state, s.folder / "closed", all_of_it);
    {
        database db(s.state, s.how);
        db.add_type<item>("item");
        add_item(db, 3);
        db.abandon();
    }
    fs::copy(s.folder / "closed", s.state, all_of_it);
    CHECK(s.open(s.state).how == opening::way::attached);
}

TEST_CASE("of as many logs is remembered as there is room for") {
    const scratch_folder folder;
    const auto segment = [](std::uint64_t number) { return file_identity{7, number, 7}; };
    database db(folder / "state", quick_options());
    db.add_type<item>("item");
    undo_log& log = *db.memory().log();
    constexpr std::uint64_t more_than_fit = 6'000;
    for (std::uint64_t number = 1; number <= more_than_fit; ++number) {
        log_witness::remember(log, segment(number));
        add_item(db, static_cast<std::uint32_t>(number));
    }
    std::uint64_t known = 0;
    std::uint64_t before = 0;
    for (std::uint64_t number = 1; number <= more_than_fit; ++number) {
        const std::uint64_t sequence = log_witness::sequence_of(segment(number));
        if (sequence == 0) continue;
        ++known;
        CHECK(sequence > std::exchange(before, sequence));
        log_witness::forget(segment(number));
        CHECK(log_witness::sequence_of(segment(number)) == 0);
    }
    CHECK(known > 1'000);
}
