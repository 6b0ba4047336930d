#include <pool_allocator/address_space.hpp>
#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>

using namespace chainbase;

TEST_CASE("a range of addresses is aligned, divided and found by any address in it") {
    const address_space one(4 << 20, 3);
    const address_space two(2 << 20, 5);
    CHECK(reinterpret_cast<std::uintptr_t>(one.base()) % address_space::alignment == 0);
    CHECK(one.place(2) - one.place(0) == 8 << 20);
    CHECK(address_space::containing(one.place(1) + 77).base ==
          reinterpret_cast<std::uintptr_t>(one.base()));
    CHECK(address_space::containing(one.base() + (12 << 20) - 1).bytes == 12 << 20);
    CHECK(address_space::containing(two.place(4)).window_bytes == 2 << 20);
    CHECK(address_space::containing(one.base() - 1).base !=
          reinterpret_cast<std::uintptr_t>(one.base()));
    const int local = 0;
    CHECK(address_space::containing(&local).bytes == 0);
}

TEST_CASE("a range that was given up is not found any more") {
    const void* inside = nullptr;
    {
        const address_space gone(2 << 20, 1);
        inside = gone.base() + 5;
        CHECK(address_space::containing(inside).bytes != 0);
    }
    CHECK(address_space::containing(inside).bytes == 0);
}

TEST_CASE("sizes that cannot be are refused") {
    CHECK_THROWS_AS(address_space(0, 1), usage_error);
    CHECK_THROWS_AS(address_space(4096, 1), usage_error);
    CHECK_THROWS_AS(address_space(std::size_t{1} << 46, 1000), limit_error);
}

TEST_CASE("more windows than a record's offset can name are refused before they are counted") {
    const std::size_t limit = address_space::max_bytes;
    CHECK_NOTHROW(address_space::require_possible(limit, 1));
    CHECK_NOTHROW(address_space::require_possible(limit / 384 / (2 << 20) * (2 << 20), 384));
    CHECK_THROWS_AS(address_space(limit, 2), limit_error);
    CHECK_THROWS_AS(address_space(limit / 2, 3), limit_error);
    CHECK_THROWS_AS(address_space(limit, std::size_t{1} << 18), limit_error); // 2^64: wraps to 0
    CHECK_THROWS_AS(address_space(2 << 20, (std::size_t{1} << 43) + 1), limit_error);
}
