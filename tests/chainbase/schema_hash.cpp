// The hash of a schema decides whether a state can be opened: it is the same on every compiler, and
// changes only when somebody means it to.

#include <catch2/catch.hpp>
#include <tests/chainbase/small_types.hpp>
#include <tests/support/sample_types.hpp>

using namespace chainbase;
using namespace chainbase::test;

TEST_CASE("the hash of a schema is the same everywhere and for ever") {
    CHECK(schema_of<card>("thing").hash() == 0xB9BE'A8FE'ADB2'E47CU);
    CHECK(schema_of<account>("account").hash() == 0xEDA1'6D11'5D6C'D6D4U);
}

TEST_CASE("the hash of a schema depends on its name and everything in it") {
    const type_schema one = schema_of<card>("thing");
    CHECK(schema_of<card>("other").hash() != one.hash());
    CHECK(schema_of<item>("thing").hash() != one.hash());
    type_schema other = one;
    other.fields[1].offset += 4;
    CHECK(other.hash() != one.hash());
    other = one;
    other.keys[0].parts[0].descending = true;
    CHECK(other.hash() != one.hash());
    other = one;
    ++other.root_bytes;
    CHECK(other.hash() != one.hash());
}
