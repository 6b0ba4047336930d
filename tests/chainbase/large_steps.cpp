// A step that needs more log than a chunk holds: whoever chooses keys can have a removal shift as
// many entries of a hash table as he likes.

#include <chainbase/database.hpp>

#include <catch2/catch.hpp>
#include <tests/chainbase/small_types.hpp>

using namespace chainbase;
using namespace chainbase::test;

namespace {

struct wide {
    chainbase::id<wide> id;
    std::uint32_t value = 0;
    std::uint64_t key = 0;

    using keys = chainbase::keys<hashed_unique<by_key, &wide::key>>;
};
BOOST_DESCRIBE_STRUCT(wide, (), (id, value, key))

constexpr std::uint64_t inverse(std::uint64_t odd) {
    std::uint64_t found = 1;
    for (int i = 0; i < 6; ++i)
        found *= 2 - odd * found;
    return found;
}

/// The number whose hash is `hash`: the finaliser of MurmurHash3 backwards.
constexpr std::uint64_t number_of_hash(std::uint32_t hash) {
    std::uint64_t h = std::uint64_t{hash} << 32 | 1;
    h ^= h >> 33;
    h *= inverse(0xC4CE'B9FE'1A85'EC53U);
    h ^= h >> 33;
    h *= inverse(0xFF51'AFD7'ED55'8CCDU);
    return h ^ h >> 33;
}

} // namespace

TEST_CASE("a key leaves a row of entries that no chunk could hold") {
    const scratch_folder folder;
    database db(folder / "state", quick_options());
    db.add_type<wide>("wide");
    // A table of 2^17 entries. Its second half is filled loosely, to make it grow; then comes a row
    // of entries without a gap, each one place behind that where it wants to be.
    constexpr std::uint32_t loose = 35'000;
    constexpr std::uint32_t row = 66'000;
    const auto add = [&](std::uint32_t home, std::uint32_t bits) {
        db.create<wide>([&](wide& w) { w.key = number_of_hash(home << (32 - 17) | bits); });
    };
    for (std::uint32_t i = 0; i < loose; ++i)
        add((1U << 16) + i + i / 2, 0);
    for (std::uint32_t i = 0; i < row; ++i)
        add(i == 0 ? 0 : i - 1, 1 + (i == 0));
    const snapshot before(db.memory());
    const wide& first = db.get(id<wide>(loose)); // where the row begins
    const auto all_found = [&] {
        for (const wide& each : db.objects<wide>())
            if (db.find<wide, by_key>(each.key) != &each) return false;
        return true;
    };
    const auto in_session = [&](auto&& change) {
        auto session = db.start_session();
        change();
        CHECK(db.memory().words().chunks.live > 1);
        CHECK(all_found());
        session.undo();
        CHECK(snapshot(db.memory()) == before);
    };
    in_session([&] { db.modify(first, [](wide& w) { w.key = 1; }); });
    in_session([&] { db.remove(first); });
    in_session([&] { db.clear<wide>(); });
    db.remove(first);
    CHECK(all_found());
    CHECK(db.count<wide>() == loose + row - 1);
}
