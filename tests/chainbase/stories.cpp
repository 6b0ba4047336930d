// The scenarios of undo and of colliding changes, without failures.

#include <catch2/catch.hpp>
#include <tests/chainbase/stories.hpp>
#include <tests/support/one_type.hpp>

#include <vector>

using namespace chainbase;
using namespace chainbase::test;

// A change that would give two objects one unique key changes nothing and says which key.

TEMPLATE_TEST_CASE("a modification that collides leaves the object as it was", "", item, card,
                   ticket) {
    colliding_modification<one_type<TestType>>();
}

TEMPLATE_TEST_CASE("a creation that collides leaves no trace", "", item, card, ticket) {
    colliding_creation<one_type<TestType>>();
}

TEMPLATE_TEST_CASE("after a collision that was caught the session is still undone", "", item, card,
                   ticket) {
    caught_collision<one_type<TestType>>();
}

TEMPLATE_TEST_CASE("a key may be set to what it is", "", item, card, ticket) {
    same_key<one_type<TestType>>();
}

// Undo of changes that a store fails at if it undoes object by object.

TEMPLATE_TEST_CASE("undo gives two objects that swapped their keys their own back", "", item,
                   card) {
    swapped_keys<one_type<TestType>>();
}

TEMPLATE_TEST_CASE("undo gives an object its key back that a new object took", "", item, card) {
    taken_key<one_type<TestType>>();
}

TEMPLATE_TEST_CASE("undo brings a removed object back whose key was used again", "", item, card) {
    key_used_again<one_type<TestType>>();
}

TEMPLATE_TEST_CASE("a ring of keys passed on is undone", "", item, card) {
    ring_of_keys<one_type<TestType>>();
}

// Removing under undo: new objects, changed ones, reused slots, everything.

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
    undone(s, [&] {
        s.clear();
        REQUIRE(s.count() == 0);
        CHECK(s.db.memory().log()->bytes_in_use() > undo_log::chunk_bytes);
        s.add(5);
        s.clear();
    });
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
