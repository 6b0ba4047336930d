// A step that needs more log than a chunk holds is refused, and changes nothing.

#include <chainbase/database.hpp>

#include <catch2/catch.hpp>
#include <tests/chainbase/small_types.hpp>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

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

TEST_CASE("removing from a row of entries that no chunk can hold is refused and changes nothing") {
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
    const auto refused = [&](auto&& call) {
        CHECK_THAT(message_of<limit_error>(call), Contains("chunk"));
        CHECK(snapshot(db.memory()) == before);
    };
    const auto refuse_all = [&] {
        refused([&] { db.remove(first); });
        refused([&] { db.modify(first, [](wide& w) { w.key = 1; }); });
    };
    refuse_all();
    {
        auto session = db.start_session();
        refuse_all();
        db.modify(first, [](wide& w) { w.value = 1; });
        db.create<wide>([](wide& w) { w.key = 1; });
    }
    CHECK(snapshot(db.memory()) == before);
    db.remove(db.get(id<wide>(loose - 1)));
    CHECK(db.count<wide>() == loose + row - 1);
}
