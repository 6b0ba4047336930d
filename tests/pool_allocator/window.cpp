#include <pool_allocator/error.hpp>
#include <pool_allocator/window.hpp>

#include <catch2/catch.hpp>
#include <tests/support/scratch_state.hpp>

#include <filesystem>
#include <fstream>

using namespace chainbase;
using namespace chainbase::test;

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
