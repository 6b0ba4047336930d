// A guard acts on the session that it started, and only between operations.

#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <tests/chainbase/small_types.hpp>

#include <optional>
#include <utility>

using namespace chainbase;
using namespace chainbase::test;

TEST_CASE("a guard whose session was undone leaves the next one of its revision alone") {
    one_type<item> s;
    {
        auto gone = s.db.start_session();
        s.db.undo();
        auto next = s.db.start_session();
        REQUIRE(gone.revision() == next.revision());
        s.add(1);
        next.push();
    }
    CHECK(s.db.revision() == 1);
    CHECK(s.at(1) != nullptr);
}

TEST_CASE("a guard does not push, squash or undo another session of its revision") {
    one_type<item> s;
    auto gone = s.db.start_session();
    auto moved = s.db.start_session();
    auto also = s.db.start_session();
    s.db.undo_all();
    std::optional<session> next = s.db.start_session();
    s.add(1);
    gone.push();
    CHECK_THROWS_AS(s.db.commit(1), usage_error); // still open
    std::optional<session> above = s.db.start_session();
    s.add(2);
    moved.squash();
    CHECK(s.db.revision() == 2);
    std::optional<session> top = s.db.start_session();
    also.undo();
    CHECK(s.db.revision() == 3);
    next.reset(); // takes those above with it
    CHECK(s.db.revision() == 0);
    above.reset();
    top.reset();
    CHECK(s.count() == 0);
}

TEST_CASE("a guard whose session was squashed or committed has nothing to do") {
    one_type<item> s;
    {
        auto squashed = s.db.start_session();
        s.add(1);
        s.db.squash();
        auto block = s.db.start_session();
        s.add(2);
        block.push();
        squashed.undo();
        block.undo(); // pushed: the guard holds nothing any more
    }
    CHECK(s.count() == 2);
    CHECK(s.db.revision() == 1);
}

TEST_CASE("within a modifier a guard refuses, and nothing is harmed") {
    one_type<item> s;
    const item& a = s.add(1);
    const snapshot before = s.now();
    auto outer = s.db.start_session();
    s.set_key(a, 2);
    std::optional<session> inner = s.db.start_session();
    s.set_key(a, 3);
    const auto refused = [&](auto&& call) {
        CHECK_THROWS_AS(s.db.modify(a,
                                    [&](item& target) {
                                        target.key = 9;
                                        call();
                                    }),
                        usage_error);
        CHECK(a.key == 3);
        CHECK(inner->active());
        CHECK(s.db.revision() == 2);
    };
    refused([&] { inner->undo(); });
    refused([&] { inner->squash(); });
    refused([&] { inner->push(); });
    refused([&] { *inner = std::move(outer); });
    CHECK(outer.active());
    s.db.modify(a, [&](item& target) {
        target.key = 4;
        inner.reset(); // the session stays
    });
    CHECK(a.key == 4);
    CHECK(s.db.revision() == 2);
    outer.undo();
    CHECK(s.db.revision() == 0);
    CHECK(s.now() == before);
}

TEST_CASE("within a modifier the revision cannot be set") {
    one_type<item> s;
    const item& a = s.add(1);
    CHECK_THROWS_AS(s.db.modify(a, [&](item&) { s.db.set_revision(7); }), usage_error);
    CHECK(s.db.revision() == 0);
}
