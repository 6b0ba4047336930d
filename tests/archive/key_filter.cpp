#include <archive/lifecycle.hpp>

#include <catch2/catch.hpp>
#include <tests/archive/note.hpp>
#include <tests/support/random_source.hpp>
#include <tests/tools/temporary_folder.hpp>

#include <string>
#include <vector>

/// What a state knows of the keys of objects that left its memory.
using namespace chainbase;
using namespace chainbase::test;
using filter = archive::detail::key_filter<note>;

TEST_CASE("a filter of several generations has every key and few others and is undone") {
    const std::uint64_t seed = test_seed(4);
    INFO("CHAINBASE_TEST_SEED=" << seed);
    random_source random(seed);
    const temporary_folder folder;
    database state(folder / "state", small_state());
    filter keys(state, "note");
    CHECK(keys.empty());
    std::vector<std::uint64_t> added(60'000);
    session all = state.start_session();
    for (std::size_t n = 0; n < added.size(); ++n)
        keys.add(added[n] = random.next(), n);
    for (const std::uint64_t hash : added)
        REQUIRE(keys.may_have(hash));
    int wrong = 0;
    for (int n = 0; n < 10'000; ++n)
        wrong += keys.may_have(random.next()) ? 1 : 0;
    CHECK(wrong < 300);
    all.undo();
    CHECK(keys.empty());
    CHECK_FALSE(keys.may_have(added.front()));
}
