// The tests of undo and of operations again, with each acquisition of each call in them failing in
// turn; ending a session acquires nothing.

#include <catch2/catch.hpp>
#include <tests/chainbase/stories.hpp>
#include <tests/support/failing_database.hpp>

using namespace chainbase;
using namespace chainbase::test;

namespace {

template <typename T>
using failing = one_type<T, failing_database>;

} // namespace

TEMPLATE_TEST_CASE("undo of unique keys survives each failing acquisition", "", item, card,
                   ticket) {
    swapped_keys<failing<TestType>>();
    taken_key<failing<TestType>>();
    key_used_again<failing<TestType>>();
    ring_of_keys<failing<TestType>>();
}

TEMPLATE_TEST_CASE("removals survive each failing acquisition", "", item, card, ticket) {
    removing_new<failing<TestType>>();
    removing_changed<failing<TestType>>();
    reused_slot<failing<TestType>>();
    ids_given_again<failing<TestType>>();
    clearing<failing<TestType>>();
}

TEMPLATE_TEST_CASE("colliding changes survive each failing acquisition", "", item, card, ticket) {
    colliding_modification<failing<TestType>>();
    colliding_creation<failing<TestType>>();
    caught_collision<failing<TestType>>();
    same_key<failing<TestType>>();
}

TEST_CASE("hash tables that grow within sessions survive each failing acquisition") {
    failing<card> s;
    for (std::uint32_t k = 0; k < 300; ++k)
        s.add(k, k);
    const snapshot before = s.now();
    failing_database::seen().clear();
    {
        auto outer = s.db.start_session();
        for (std::uint32_t k = 300; k < 1000; ++k)
            s.add(k, k);
        auto inner = s.db.start_session();
        s.clear();
        for (std::uint32_t k = 0; k < 1000; ++k)
            s.add(k, k);
        inner.squash();
    }
    CHECK(s.now() == before);
    const failures seen = failing_database::seen();
    CHECK(seen.at(fault::point::slot) > 1000);
    CHECK(seen.at(fault::point::growth) > 2);
    for (std::uint32_t k = 0; k < 300; ++k)
        CHECK(s.at(k)->group == k);
}
