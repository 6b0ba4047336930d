// What a caller's function throws passes through; the state is what it was.

#include <catch2/catch.hpp>
#include <tests/chainbase/small_types.hpp>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

namespace {

struct from_the_caller {};

} // namespace

TEMPLATE_TEST_CASE("a modifier that throws half way changes nothing", "", item, card) {
    one_type<TestType> s;
    const TestType& a = s.add(1, 4);
    const auto fail = [&] {
        const snapshot before = s.now();
        CHECK_THROWS_AS(s.db.modify(a,
                                    [](TestType& t) {
                                        t.value = 1;
                                        t.key = 8;
                                        throw from_the_caller();
                                    }),
                        from_the_caller);
        CHECK(s.now() == before);
    };
    fail();
    auto session = s.db.start_session();
    fail();
    s.db.modify(a, [](TestType& t) { t.value = 2; });
    fail();
    CHECK(a.value == 2);
    session.undo();
    CHECK(a.value == 0);
    CHECK(s.at(1) == &a);
}

TEMPLATE_TEST_CASE("a modifier that throws leaves an object that is new in the session", "", item,
                   card, ticket) {
    one_type<TestType> s;
    s.add(1, 4);
    const snapshot begin = s.now();
    auto session = s.db.start_session();
    const TestType& fresh = s.add(2, 5);
    const snapshot before = s.now();
    for (int round = 0; round < 2; ++round) {
        CHECK_THROWS_AS(s.db.modify(fresh,
                                    [](TestType& t) {
                                        t.value = 1;
                                        t.key = 8;
                                        t.group = 9;
                                        throw from_the_caller();
                                    }),
                        from_the_caller);
        CHECK(s.now() == before);
        CHECK(s.at(2) == &fresh);
    }
    s.set_key(fresh, 3);
    CHECK(s.at(3) == &fresh);
    session.undo();
    CHECK(s.now() == begin);
}

TEMPLATE_TEST_CASE("an initialiser that throws creates nothing", "", item, card) {
    one_type<TestType> s;
    s.add(1);
    const snapshot before = s.now();
    CHECK_THROWS_AS(s.create([](TestType& t) {
        t.key = 2;
        throw from_the_caller();
    }),
                    from_the_caller);
    CHECK(s.now() == before);
    CHECK(s.at(2) == nullptr);
    CHECK(s.add(2).id.value == 1);
}

TEMPLATE_TEST_CASE("an initialiser that throws in a slot freed in the same session leaves the free "
                   "list whole",
                   "", item, card) {
    one_type<TestType> s;
    auto session = s.db.start_session();
    for (std::uint32_t k = 0; k < 10; ++k)
        s.add(k);
    for (std::uint32_t k = 0; k < 9; ++k)
        s.db.remove(*s.at(k));
    const snapshot before = s.now();
    CHECK_THROWS_AS(s.create([](TestType& t) {
        t.key = 100;
        throw from_the_caller();
    }),
                    from_the_caller);
    CHECK_THROWS_AS(s.add(9), duplicate_key_error);
    CHECK(s.now() == before);
    for (std::uint32_t k = 0; k < 9; ++k)
        s.add(k);
    CHECK(s.at(9)->value == 0);
    for (std::uint32_t k = 0; k < 10; ++k)
        CHECK(s.at(k)->key == k);
    CHECK(s.count() == 10);
}

TEMPLATE_TEST_CASE("an id cannot be changed", "", item, card) {
    one_type<TestType> s;
    const TestType& a = s.add(1);
    const snapshot before = s.now();
    CHECK_THAT(message_of<usage_error>(
                   [&] { s.db.modify(a, [](TestType& t) { t.id = id<TestType>(9); }); }),
               Contains("thing") && Contains("id"));
    CHECK_THAT(
        message_of<usage_error>([&] { s.create([](TestType& t) { t.id = id<TestType>(9); }); }),
        Contains("thing") && Contains("id"));
    CHECK(s.now() == before);
}
