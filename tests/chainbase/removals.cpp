// Removing under undo: what is new, what was changed, what is reused, everything.

#include <catch2/catch.hpp>
#include <tests/chainbase/small_types.hpp>
#include <tests/chainbase/stories.hpp>

#include <vector>

using namespace chainbase;
using namespace chainbase::test;

TEMPLATE_TEST_CASE("removing an object that the session made, then undo", "", item, card) {
    removing_new<one_type<TestType>>();
}

TEMPLATE_TEST_CASE("removing an object that the session changed, then undo", "", item, card) {
    removing_changed<one_type<TestType>>();
}

TEMPLATE_TEST_CASE(
    "a slot freed in an inner session and reused comes back when the outer is undone", "", item,
    card) {
    reused_slot<one_type<TestType>>();
}

TEMPLATE_TEST_CASE("ids that were undone are given again", "", item, card) {
    ids_given_again<one_type<TestType>>();
}

TEMPLATE_TEST_CASE("clear is undone like anything else", "", item, card) {
    clearing<one_type<TestType>>();
}

TEMPLATE_TEST_CASE("clearing more than a chunk of the log holds is undone", "", item, card,
                   ticket) {
    one_type<TestType> s;
    for (std::uint32_t k = 0; k < 20'000; ++k)
        s.add(k, k % 700);
    for (std::uint32_t k = 0; k < 20'000; k += 7)
        s.db.remove(*s.at(k));
    const snapshot before = s.now();
    {
        auto session = s.db.start_session();
        s.clear();
        REQUIRE(s.count() == 0);
        CHECK(s.db.memory().log()->bytes_in_use() > undo_log::chunk_bytes);
        s.add(5);
        s.clear();
    }
    CHECK(s.now() == before);
    for (std::uint32_t k = 0; k < 20'000; ++k)
        if ((s.at(k) != nullptr) != (k % 7 != 0)) FAIL("key " << k);
}

TEST_CASE("an object that is not one of the database is refused") {
    one_type<item> s;
    one_type<item> other;
    const item& a = s.add(1);
    const std::vector<item> copies(3, a);
    const item& copy = copies[1];
    CHECK_THROWS_AS(s.db.modify(copy, [](item&) {}), usage_error);
    CHECK_THROWS_AS(s.db.remove(copy), usage_error);
    CHECK_THROWS_AS(s.db.remove(other.add(1)), usage_error);
    s.add(2);
    s.db.remove(a);
    const snapshot before = s.now();
    CHECK_THROWS_AS(s.db.remove(a), usage_error);
    CHECK_THROWS_AS(s.db.modify(a, [](item& t) { t.value = 1; }), usage_error);
    CHECK(s.now() == before);
}
