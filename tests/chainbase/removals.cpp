// Removing under undo: what is new, what was changed, what is reused, everything.

#include <catch2/catch.hpp>
#include <tests/chainbase/small_types.hpp>

#include <vector>

using namespace chainbase;
using namespace chainbase::test;

TEMPLATE_TEST_CASE("removing an object that the session made, then undo", "", item, card) {
    one_type<TestType> s;
    s.add(1);
    const snapshot before = s.now();
    {
        auto session = s.db.start_session();
        const TestType& fresh = s.add(2);
        s.db.remove(fresh);
        REQUIRE(s.at(2) == nullptr);
    }
    CHECK(s.now() == before);
    CHECK(s.count() == 1);
}

TEMPLATE_TEST_CASE("removing an object that the session changed, then undo", "", item, card) {
    one_type<TestType> s;
    const TestType& a = s.add(1, 4);
    s.add(2, 4);
    const snapshot before = s.now();
    {
        auto session = s.db.start_session();
        s.db.modify(a, [](TestType& t) {
            t.value = 3;
            t.key = 10;
            t.group = 5;
        });
        s.db.remove(a);
        REQUIRE(s.at(1) == nullptr);
        REQUIRE(s.at(10) == nullptr);
        REQUIRE(s.find(0) == nullptr);
    }
    CHECK(s.now() == before);
    REQUIRE(s.at(1) == &a);
    CHECK(a.value == 0);
    CHECK(a.group == 4);
}

TEMPLATE_TEST_CASE(
    "a slot freed in an inner session and reused comes back when the outer is undone", "", item,
    card) {
    one_type<TestType> s;
    const TestType& a = s.add(1, 4);
    const snapshot before = s.now();
    {
        auto outer = s.db.start_session();
        s.db.modify(a, [](TestType& t) { t.value = 1; });
        {
            auto inner = s.db.start_session();
            s.db.remove(a);
            inner.squash();
        }
        const TestType& b = s.add(2);
        REQUIRE(&b == &a); // the same slot
        {
            auto inner = s.db.start_session();
            s.db.modify(b, [](TestType& t) { t.value = 2; });
            s.db.remove(b);
            s.add(3);
        }
        REQUIRE(s.at(2) == &b);
    }
    CHECK(s.now() == before);
    REQUIRE(s.at(1) == &a);
    CHECK(a.value == 0);
}

TEMPLATE_TEST_CASE("ids that were undone are given again", "", item, card) {
    one_type<TestType> s;
    s.add(1);
    {
        auto session = s.db.start_session();
        CHECK(s.add(2).id.value == 1);
        CHECK(s.add(3).id.value == 2);
    }
    CHECK(s.find(1) == nullptr);
    CHECK(s.find(2) == nullptr);
    const TestType& again = s.add(4);
    CHECK(again.id.value == 1);
    CHECK(s.find(1) == &again);
    s.db.remove(again);
    CHECK(s.add(5).id.value == 2); // but not those that were removed
    CHECK(s.find(1) == nullptr);
}

TEMPLATE_TEST_CASE("clear is undone like anything else", "", item, card) {
    one_type<TestType> s;
    for (std::uint32_t k = 0; k < 500; ++k)
        s.add(k, k % 7);
    s.db.remove(*s.at(13));
    const snapshot before = s.now();
    {
        auto session = s.db.start_session();
        s.set_key(*s.at(5), 5000);
        s.add(700);
        s.clear();
        REQUIRE(s.count() == 0);
        REQUIRE(s.find(3) == nullptr);
        REQUIRE(s.at(1) == nullptr);
        s.add(1);
    }
    CHECK(s.now() == before);
    CHECK(s.count() == 499);
    CHECK(s.at(5)->id.value == 5);
    s.clear();
    CHECK(s.count() == 0);
    CHECK(s.add(1).id.value == 500);
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
