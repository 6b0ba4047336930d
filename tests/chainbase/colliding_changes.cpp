// A change that would give two objects one unique key changes nothing and says which key.

#include <catch2/catch.hpp>
#include <tests/chainbase/small_types.hpp>

#include <optional>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

namespace {

/// Whether the objects at hand are older than the session, new in it, or there is no session.
enum class situation { no_session, old_objects, new_objects, pushed_session };

template <typename T>
struct pair_of : one_type<T> {
    explicit pair_of(situation when) {
        if (when == situation::new_objects) open = this->db.start_session();
        a = &this->add(1, 5);
        b = &this->add(2, 6);
        if (when == situation::old_objects) open = this->db.start_session();
        if (when == situation::pushed_session) this->db.start_session().push();
    }
    const T* a;
    const T* b;
    std::optional<session> open;
};

constexpr situation all_situations[] = {situation::no_session, situation::old_objects,
                                        situation::new_objects, situation::pushed_session};

} // namespace

TEMPLATE_TEST_CASE("a modification that collides leaves the object as it was", "", item, card) {
    for (const situation when : all_situations) {
        pair_of<TestType> s(when);
        const snapshot before = s.now();
        const std::string said = message_of<duplicate_key_error>([&] {
            s.db.modify(*s.b, [](TestType& t) {
                t.value = 9;
                t.group = 1;
                t.key = 1;
            });
        });
        CHECK_THAT(said, Contains("thing") && Contains("by_key") && Contains("(1)"));
        CHECK(s.now() == before);
        CHECK(s.at(2) == s.b);
        CHECK(s.b->value == 0);
        CHECK(s.b->group == 6);
        s.db.modify(*s.b, [](TestType& t) { t.key = 3; });
        CHECK(s.at(3) == s.b);
        CHECK(s.at(2) == nullptr);
    }
}

TEMPLATE_TEST_CASE("a creation that collides leaves no trace", "", item, card) {
    for (const situation when : all_situations) {
        pair_of<TestType> s(when);
        const snapshot before = s.now();
        CHECK_THAT(message_of<duplicate_key_error>([&] { s.add(2); }),
                   Contains("thing") && Contains("by_key") && Contains("(2)"));
        CHECK(s.now() == before);
        CHECK(s.add(3).id.value == 2);
    }
}

TEMPLATE_TEST_CASE("after a collision that was caught the session is still undone", "", item,
                   card) {
    one_type<TestType> s;
    const TestType& a = s.add(1);
    s.add(2);
    const snapshot before = s.now();
    {
        auto session = s.db.start_session();
        CHECK_THROWS_AS(s.set_key(a, 2), duplicate_key_error);
        s.db.modify(a, [](TestType& t) { t.value = 5; });
        s.set_key(a, 7);
        CHECK_THROWS_AS(s.set_key(a, 2), duplicate_key_error);
        s.db.modify(a, [](TestType& t) { t.value = 6; });
        REQUIRE(s.at(7) == &a);
    }
    CHECK(s.now() == before);
    CHECK(a.key == 1);
    CHECK(a.value == 0);
}

TEMPLATE_TEST_CASE("a key may be set to what it is", "", item, card) {
    one_type<TestType> s;
    const TestType& a = s.add(1);
    s.set_key(a, 1);
    s.db.modify(a, [](TestType& t) {
        t.key = 2;
        t.key = 1;
        t.value = 3;
    });
    CHECK(s.at(1) == &a);
    CHECK(a.value == 3);
}
