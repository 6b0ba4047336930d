// A change that would give two objects one unique key changes nothing and says which key.

#include <catch2/catch.hpp>
#include <tests/chainbase/stories.hpp>

using namespace chainbase;
using namespace chainbase::test;

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
