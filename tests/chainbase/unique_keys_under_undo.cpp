// Undo of changes that a store which undoes one object after the other stumbles over.

#include <catch2/catch.hpp>
#include <tests/chainbase/stories.hpp>

using namespace chainbase;
using namespace chainbase::test;

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
