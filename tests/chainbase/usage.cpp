// Calls that are wrong are refused with a message, and change nothing.

#include <catch2/catch.hpp>
#include <tests/chainbase/small_types.hpp>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

TEST_CASE("a type or a name can be registered once only") {
    one_type<item> s;
    CHECK_THAT(message_of<usage_error>([&] { s.db.add_type<item>("other"); }), Contains("other"));
    CHECK_THAT(message_of<usage_error>([&] { s.db.add_type<card>("thing"); }), Contains("thing"));
    s.db.add_type<card>("card");
    s.db.create<card>([](card& c) { c.key = 4; });
    CHECK(s.db.count<item>() == 0);
    CHECK(s.db.count<card>() == 1);
}

TEST_CASE("a type that is not registered cannot be used") {
    one_type<item> s;
    CHECK_THROWS_AS(s.db.create<card>([](card&) {}), usage_error);
    CHECK_THROWS_AS(s.db.find(id<card>(0)), usage_error);
    CHECK_THROWS_AS(s.db.count<card>(), usage_error);
}

TEST_CASE("get of what is not there names it; find gives null") {
    one_type<item> s;
    s.add(1);
    CHECK(s.db.find(id<item>(1)) == nullptr);
    CHECK(s.db.find(id<item>(UINT32_MAX)) == nullptr);
    CHECK(s.at(2) == nullptr);
    CHECK_THAT(message_of<not_found_error>([&] { (void)s.db.get(id<item>(77)); }),
               Contains("thing") && Contains("77"));
    const auto by_unknown_key = [&] { (void)s.db.get<item, by_key>(78U); };
    CHECK_THAT(message_of<not_found_error>(by_unknown_key),
               Contains("thing") && Contains("by_key") && Contains("78"));
    CHECK(&s.db.get(id<item>(0)) == s.at(1));
}

TEST_CASE("undo, squash and changes need a session") {
    one_type<item> s;
    CHECK_THROWS_AS(s.db.undo(), usage_error);
    CHECK_THROWS_AS(s.db.squash(), usage_error);
    CHECK_THROWS_AS(s.db.changes<item>(1), usage_error);
    CHECK_NOTHROW(s.db.undo_all());
    CHECK_NOTHROW(s.db.commit(5));
    auto session = s.db.start_session();
    CHECK_THROWS_AS(s.db.compact(), usage_error);
    CHECK_THROWS_AS(s.db.changes<item>(2), usage_error);
    CHECK(s.db.changes<item>(1).empty());
}

TEST_CASE("a database that was closed is found closed, and does nothing any more") {
    one_type<item> s;
    const item& a = s.add(1);
    {
        auto session = s.db.start_session();
        CHECK_THAT(message_of<usage_error>([&] { s.db.close(); }),
                   Contains("1 sessions are still"));
        s.db.modify(a, [](item& t) { t.value = 5; });
        session.push();
    }
    s.db.close();
    CHECK_NOTHROW(s.db.close());
    CHECK(s.db.revision() == 1);
    CHECK_THROWS_AS(s.add(2), usage_error);
    CHECK_THROWS_AS(s.db.start_session(), usage_error);
    CHECK_THROWS_AS(s.db.count<item>(), usage_error);
    const database reader(s.folder / "state", quick_options(open_mode::read_only));
    CHECK(reader.memory().header().clean == 1);
    CHECK(reader.revision() == 1);
    CHECK(reader.committed_revision() == 0);
}

TEST_CASE("a read-only database refuses to change") {
    one_type<item> s;
    const item& a = s.add(1);
    database reader(s.folder / "state", quick_options(open_mode::read_only));
    reader.add_type<item>("thing");
    const item* seen = reader.find<item, by_key>(1U);
    REQUIRE(seen != nullptr);
    CHECK(seen != &a);
    CHECK(seen->id == a.id);
    const snapshot before = s.now();
    CHECK_THROWS_AS(reader.create<item>([](item&) {}), usage_error);
    CHECK_THROWS_AS(reader.modify(*seen, [](item& t) { t.value = 1; }), usage_error);
    CHECK_THROWS_AS(reader.remove(*seen), usage_error);
    CHECK_THROWS_AS(reader.clear<item>(), usage_error);
    CHECK_THROWS_AS((void)reader.start_session(), usage_error);
    CHECK_THROWS_AS(reader.add_type<card>("card"), usage_error);
    CHECK(s.now() == before);
    s.db.modify(a, [](item& t) { t.value = 3; });
    CHECK(seen->value == 3); // the same memory, mapped twice
    s.add(2);
    CHECK(reader.find<item, by_key>(2U) != nullptr);
}
