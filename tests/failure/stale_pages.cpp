// A file system that gives huge pages at once (tmpfs with huge=always or within_size) hands out
// pages that still hold what another file had, if they are collapsed before anything has touched
// them. What grows is zero whatever the file system does.

#include <pool_allocator/window.hpp>

#include <catch2/catch.hpp>
#include <sys/mount.h>
#include <tests/failure/killed_chain.hpp>
#include <tests/failure/own_mounts.hpp>
#include <tests/support/mismatch.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

using namespace chainbase;
using namespace chainbase::test;

namespace {

constexpr const char* mount_point = "/mnt";
constexpr std::size_t mebi = std::size_t{1} << 20;

/// Files of text come and go, so that their pages are the next ones to be given out.
void leave_stale_pages() {
    const std::filesystem::path file = std::filesystem::path(mount_point) / "text";
    std::ofstream out(file);
    const std::string text(mebi, 'x');
    for (int i = 0; i < 128; ++i)
        out << text;
    out.close();
    std::filesystem::remove(file);
}

bool is_zero(const std::byte* begin, std::size_t bytes) {
    return std::all_of(begin, begin + bytes, [](std::byte b) { return b == std::byte{0}; });
}

} // namespace

TEST_CASE("what a window grows by is zero, whatever huge pages the file system gives") {
    const std::string huge = GENERATE("never", "advise", "within_size", "always");
    const auto mounted = [&] {
        const std::string options = "mode=0700,size=512m,huge=" + huge;
        return ::mount("tmpfs", mount_point, "tmpfs", 0, options.c_str()) == 0;
    };
    run_with_mounts(mounted, [] {
        leave_stale_pages();
        const address_space addresses(256 * mebi, 1);
        const window::geometry shape{window_kind::objects, 64, window_header::page_bytes};
        window file =
            window::create({&addresses, 0}, std::filesystem::path(mount_point) / "objects", shape);
        file.grow_range(8 * mebi, 8 * mebi);
        expect(is_zero(file.base() + 8 * mebi, 8 * mebi), "a range is zero");
        file.grow_to(64 * mebi);
        const std::size_t after = 16 * mebi;
        expect(is_zero(file.base() + after, file.bytes() - after), "what follows is zero");
    });
}
