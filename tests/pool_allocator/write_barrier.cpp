#include <pool_allocator/pool_allocator.hpp>

#include <catch2/catch.hpp>

using namespace chainbase;

TEST_CASE("a trailer keeps offset, length and kind up to their limits") {
    for (const std::uint64_t offset :
         {std::uint64_t{0}, std::uint64_t{4096}, record_trailer::reach - 4})
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{4}, record_trailer::max_body})
            for (const auto kind : {record_kind::words, record_kind::modified, record_kind::mark}) {
                const record_trailer trailer = record_trailer::make(offset, bytes, kind);
                CHECK(trailer.offset() == offset);
                CHECK(trailer.bytes() == bytes);
                CHECK(trailer.kind() == kind);
            }
}

TEST_CASE("what no record can hold is refused when a type is compiled") {
    STATIC_REQUIRE(record_trailer::fits(record_trailer::max_body));
    STATIC_REQUIRE(record_trailer::fits(node_layout<262'000, 8, 0, 24>::node_bytes));
    STATIC_REQUIRE_FALSE(record_trailer::fits(record_trailer::max_body + 4));
    STATIC_REQUIRE_FALSE(
        record_trailer::fits(300'000)); // node_layout<300'000, ...> does not compile
    STATIC_REQUIRE_FALSE(record_trailer::fits(6));
}
