// Undo of changes that a store which undoes one object after the other stumbles over.

#include <catch2/catch.hpp>
#include <tests/chainbase/small_types.hpp>

using namespace chainbase;
using namespace chainbase::test;

TEMPLATE_TEST_CASE("undo gives two objects that swapped their keys their own back", "", item,
                   card) {
    one_type<TestType> s;
    const TestType& a = s.add(1);
    const TestType& b = s.add(2);
    const snapshot before = s.now();
    {
        auto session = s.db.start_session();
        s.set_key(a, 3);
        s.set_key(b, 1);
        s.set_key(a, 2);
        REQUIRE(s.at(2) == &a);
        REQUIRE(s.at(1) == &b);
    }
    CHECK(s.now() == before);
    CHECK(s.at(1) == &a);
    CHECK(s.at(2) == &b);
    CHECK(s.at(3) == nullptr);
}

TEMPLATE_TEST_CASE("undo gives an object its key back that a new object took", "", item, card) {
    one_type<TestType> s;
    const TestType& a = s.add(1);
    const snapshot before = s.now();
    {
        auto session = s.db.start_session();
        s.set_key(a, 2);
        s.add(1);
        REQUIRE(s.count() == 2);
    }
    CHECK(s.now() == before);
    CHECK(s.at(1) == &a);
    CHECK(s.count() == 1);
}

TEMPLATE_TEST_CASE("undo brings a removed object back whose key was used again", "", item, card) {
    one_type<TestType> s;
    const TestType& a = s.add(1);
    s.db.modify(a, [](TestType& t) { t.value = 7; });
    const snapshot before = s.now();
    {
        auto session = s.db.start_session();
        s.db.remove(a);
        const TestType& again = s.add(1);
        REQUIRE(again.id.value == 1);
        REQUIRE(again.value == 0);
    }
    CHECK(s.now() == before);
    REQUIRE(s.at(1) == &a);
    CHECK(a.id.value == 0);
    CHECK(a.value == 7);
}

TEMPLATE_TEST_CASE("a ring of keys passed on is undone", "", item, card) {
    one_type<TestType> s;
    for (std::uint32_t k = 0; k < 100; ++k)
        s.add(k, k % 3);
    const snapshot before = s.now();
    {
        auto session = s.db.start_session();
        for (int round = 0; round < 3; ++round) {
            for (std::uint32_t k = 100; k > 0; --k)
                s.set_key(*s.at(k - 1), k);
            s.set_key(*s.at(100), 0);
        }
        REQUIRE(s.at(3)->id.value == 0);
    }
    CHECK(s.now() == before);
    for (std::uint32_t k = 0; k < 100; ++k)
        CHECK(s.at(k)->id.value == k);
}
