#include <pool_allocator/size_classes.hpp>

#include <catch2/catch.hpp>

using namespace chainbase;

TEST_CASE("every length has the smallest class that holds it") {
    for (std::size_t length = 1; length <= size_classes::largest_class; ++length) {
        const std::size_t c = size_classes::class_of(length);
        if (c >= size_classes::class_count || size_classes::bytes_of_class(c) < length ||
            (c > 0 && size_classes::bytes_of_class(c - 1) >= length))
            FAIL("length " << length << ": class " << c);
    }
    CHECK(size_classes::bytes_of_class(size_classes::class_count - 1) ==
          size_classes::largest_class);
    for (std::size_t c = 0; c < size_classes::class_count; ++c)
        CHECK(size_classes::bytes_of_class(c) % 16 == 0);
}

TEST_CASE("a handle keeps slot and length") {
    for (const slot_number slot : {1U, 77U, 0x7FFF'FFFFU})
        for (const std::uint32_t length : {1U, 65'536U, UINT32_MAX}) {
            const buffer_handle handle = buffer_handle::make(slot, length);
            CHECK(handle.in_segment());
            CHECK(handle.slot() == slot);
            CHECK(handle.length() == length);
        }
    CHECK_FALSE(buffer_handle{}.in_segment());
    CHECK(buffer_handle{}.length() == 0);
}
