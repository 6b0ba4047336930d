// A removal finds no room in the log half way: between leaving one hash table and leaving the next.
// What it had done by then is taken back, also to objects that are new in the session.

#include <chainbase/database.hpp>

#include <catch2/catch.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/snapshot.hpp>

#include <iterator>

using namespace chainbase;
using namespace chainbase::test;

namespace {

struct by_team;
struct by_number;

/// The key that links objects to each other is left first.
struct player {
    chainbase::id<player> id;
    std::uint32_t team = 0;
    std::uint32_t number = 0;

    using keys = chainbase::keys<hashed_non_unique<by_team, &player::team>,
                                 hashed_unique<by_number, &player::number>>;
};
BOOST_DESCRIBE_STRUCT(player, (), (id, team, number))

const player& add(database& db, std::uint32_t number) {
    return db.create<player>([&](player& p) {
        p.team = number / 3;
        p.number = number;
    });
}

/// Removes an object while no chunk is to be had. Whether that failed.
bool fails_to_remove(database& db, const player& object) {
    const fail_nth failing(0);
    try {
        db.remove(object);
        return false;
    } catch (const injected_failure&) {
        return true;
    }
}

std::size_t left_in_chunk(log_position tail) {
    return undo_log::chunk_bytes - (tail - window_header::page_bytes) % undo_log::chunk_bytes;
}

} // namespace

TEST_CASE("a removal that finds no log half way leaves new objects linked as they were") {
    const scratch_folder folder;
    database db(folder / "state", quick_options());
    db.add_type<player>("player");
    auto session = db.start_session();
    const auto& log = db.memory().words();
    std::size_t failures = 0;
    for (std::uint32_t number = 0; log.chunks.live < 40; number += 3) {
        add(db, number);
        const player& middle = add(db, number + 1);
        add(db, number + 2);
        const std::size_t left = left_in_chunk(log.tail);
        if (left > 4096) continue;
        const snapshot before(db.memory());
        if (!fails_to_remove(db, middle)) continue;
        ++failures;
        REQUIRE(snapshot(db.memory()) == before);
        const auto team = db.view<player, by_team>().equal_range(number / 3);
        REQUIRE(std::distance(team.begin(), team.end()) == 3);
        db.remove(middle);
    }
    CHECK(failures > 10);
    session.undo();
    CHECK(db.count<player>() == 0);
}
