// Windows, their addresses and limits, pools of slots and buffers, and the write barrier.

#include <pool_allocator/address_space.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/resource_limits.hpp>
#include <pool_allocator/pool_allocator.hpp>
#include <pool_allocator/shared_buffer.hpp>
#include <pool_allocator/size_classes.hpp>
#include <pool_allocator/window.hpp>

#include <catch2/catch.hpp>
#include <tests/support/scratch_state.hpp>

#include <filesystem>
#include <fstream>
#include <string>

using namespace chainbase;
using namespace chainbase::test;

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

namespace {

constexpr window::geometry shape{window_kind::objects, 64, window_header::page_bytes};

} // namespace

TEST_CASE("a window grows in place, and another mapping of its file sees it") {
    const scratch_folder folder;
    const address_space addresses(4 << 20, 2);
    const address_space elsewhere(4 << 20, 2);
    window file = window::create({&addresses, 1}, folder / "w", shape);
    window seen = window::open({&elsewhere, 1}, folder / "w", shape, window::mode::read_only);
    CHECK(file.base() == addresses.place(1));
    file.grow_to(1'000'000);
    CHECK(file.bytes() >= 1'000'000);
    CHECK(file.bytes() % window_header::page_bytes == 0);
    CHECK(std::filesystem::file_size(folder / "w") == file.bytes());
    CHECK(file.base()[999'999] == std::byte{0});
    file.base()[999'999] = std::byte{7};
    seen.refresh();
    CHECK(seen.bytes() == file.bytes());
    CHECK(seen.base()[999'999] == std::byte{7});
    CHECK(file.punch(4096, 900'000));
    CHECK_FALSE(file.punch(4097, 8190));    // no whole page
    CHECK_FALSE(seen.punch(4096, 900'000)); // may only read
    CHECK(file.base()[999'999] == std::byte{7});
    file.shrink_to(5000);
    CHECK(file.bytes() == 8192);
    file.grow_to(1'000'000);
    CHECK(file.base()[999'999] == std::byte{0});
}

TEST_CASE("a window does not outgrow its place") {
    const scratch_folder folder;
    const address_space addresses(2 << 20, 1);
    window file = window::create({&addresses, 0}, folder / "w", shape);
    file.grow_to(2 << 20);
    CHECK(file.bytes() == 2 << 20);
    CHECK_THROWS_AS(file.grow_to((2 << 20) + 1), limit_error);
    CHECK_THROWS_AS(file.grow_range(1 << 20, (1 << 20) + 1), limit_error);
    CHECK(file.bytes() == 2 << 20);
}

TEST_CASE("a pool has no more slots than a link can reach, whatever room there is") {
    const scratch_folder folder;
    const address_space addresses(4 << 20, 1);
    window file = window::create({&addresses, 0}, folder / "w", shape);
    auto& state = *reinterpret_cast<pool_state*>(file.root());
    state = {0, pool::max_slots, 1};
    pool slots(file, state);
    CHECK_THROWS_WITH(slots.reserve(), Catch::Matchers::Contains("a pool holds at most"));
    state.high_water = 100;
    CHECK_NOTHROW(slots.reserve());
}

TEST_CASE("a file of another kind, place or slot size is refused") {
    const scratch_folder folder;
    const address_space addresses(2 << 20, 2);
    (void)window::create({&addresses, 0}, folder / "w", shape);
    const auto open = [&](std::uint32_t index, const window::geometry& as) {
        (void)window::open({&addresses, index}, folder / "w", as, window::mode::read_write);
    };
    CHECK_NOTHROW(open(0, shape));
    CHECK_THROWS_AS(open(1, shape), damaged_error);
    CHECK_THROWS_AS(open(0, {window_kind::ids, 64, 4096}), damaged_error);
    CHECK_THROWS_AS(open(0, {window_kind::objects, 72, 4096}), damaged_error);
    CHECK_THROWS_AS(
        (void)window::open({&addresses, 0}, folder / "none", shape, window::mode::read_write),
        damaged_error);
}

TEST_CASE("a window that cannot be opened keeps no file open") {
    const scratch_folder folder;
    std::filesystem::create_directory(folder / "other");
    std::ofstream(folder / "empty");
    const address_space addresses(2 << 20, 1);
    const auto open_files = [] {
        const std::filesystem::directory_iterator all("/proc/self/fd");
        return std::distance(begin(all), end(all));
    };
    const auto before = open_files();
    const auto open = [&](const char* name) {
        (void)window::open({&addresses, 0}, folder / name, shape, window::mode::read_only);
    };
    for (int i = 0; i < 3; ++i) {
        CHECK_THROWS_AS(open("other"), access_error); // a folder opens, but no file system maps one
        CHECK_THROWS_AS(open("empty"), damaged_error);
    }
    CHECK(open_files() == before);
}

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

TEST_CASE("a shared string is compared with text in place") {
    const shared_string text(std::string_view("beta"));
    CHECK(text == std::string_view("beta"));
    CHECK("beta" == text);
    CHECK(text != "alpha");
    CHECK(text > "alpha");
    CHECK(std::string_view("gamma") > text);
    CHECK(text == shared_string(std::string_view("beta")));
    // Longer than any shared string: a copy of it would throw.
    const std::string_view huge(text.view().data(), std::size_t{1} << 33);
    CHECK_FALSE(text == huge);
}
