// What of a file is in memory.

#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/page_cache.hpp>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <tests/support/temporary_folder.hpp>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t length = 300 * page + 100; // an odd end

/// A folder on a disk; nothing where all is memory.
std::optional<fs::path> folder_on_disk() {
    for (const fs::path& one :
         {fs::temp_directory_path(), fs::current_path(), fs::path("/var/tmp")})
        if (!is_memory(one)) return one;
    return std::nullopt;
}

/// A file with content, open.
struct written_file {
    explicit written_file(const fs::path& in)
        : folder(in), path(folder / "file"),
          number((std::ofstream(path, std::ios::binary) << std::string(length, 'x') << std::flush,
                  ::open(path.c_str(), O_RDWR | O_CLOEXEC))) {
        REQUIRE(number >= 0);
    }
    ~written_file() { ::close(number); }
    void sync() const { REQUIRE(::fsync(number) == 0); }
    void drop(off_t begin, off_t bytes) const {
        REQUIRE(::posix_fadvise(number, begin, bytes, POSIX_FADV_DONTNEED) == 0);
    }

    temporary_folder folder;
    fs::path path;
    int number;
};

} // namespace

TEST_CASE("page cache: a file that is written, synced, dropped in part and in whole") {
    const auto disk = folder_on_disk();
    if (!disk) return;
    const auto call = GENERATE(page_cache_call::cachestat, page_cache_call::mincore);
    const written_file file(*disk);
    file.sync();
    const cached_bytes whole = cached_bytes_of(file.path, call);
    const bool tells_all = whole.dirty.has_value(); // not a kernel before 6.5
    CHECK(whole.resident == length);
    CHECK(whole.missing == 0);
    CHECK((call == page_cache_call::cachestat || !tells_all));
    CHECK(whole.writeback.has_value() == tells_all);
    CHECK(whole.dirty.value_or(0) == 0);
    CHECK(whole.writeback.value_or(0) == 0);

    // Whole folios are dropped only: the file's begin stays if one is larger.
    file.drop(100 * page, 0);
    const cached_bytes less = cached_bytes_of(file.path, call);
    CHECK(*less.resident < length);
    CHECK(*less.missing == length - *less.resident);

    REQUIRE(::pwrite(file.number, "y", 1, 10) == 1);
    if (tells_all) CHECK(*cached_bytes_of(file.path, call).dirty > 0);
    file.sync();
    file.drop(0, 0);
    const cached_bytes none = cached_bytes_of(file.path, call);
    CHECK(none.resident == 0);
    CHECK(none.missing == length);
    CHECK(none.dirty.value_or(0) == 0);
}

TEST_CASE("page cache: asking brings nothing into memory, and a hole is not missing") {
    const auto disk = folder_on_disk();
    if (!disk) return;
    const auto call = GENERATE(page_cache_call::cachestat, page_cache_call::mincore);
    const written_file file(*disk);
    fs::resize_file(file.path, 3'000 * page);
    file.sync();
    file.drop(0, 0);
    for (int times = 0; times < 3; ++times) {
        const cached_bytes found = cached_bytes_of(file.path, call);
        CHECK(found.resident == 0);
        CHECK(*found.missing >= length);
        CHECK(*found.missing < 400 * page);
    }
}

TEST_CASE("page cache: files are memory themselves or on a disk, whichever way it is asked") {
    const written_file file(fs::temp_directory_path());
    CHECK(is_memory(file.number) == is_memory(file.path));
    CHECK(is_memory(file.path) == is_memory(fs::temp_directory_path()));
    CHECK_FALSE(is_memory("/proc"));
    CHECK_FALSE(is_memory(file.folder / "missing"));
    CHECK_FALSE(is_memory(-1));
    CHECK(is_memory_type("tmpfs"));
    CHECK(is_memory_type("ramfs"));
    CHECK_FALSE(is_memory_type("ext4"));
}

TEST_CASE("page cache: of tmpfs all is in memory and nothing is dirty") {
    if (!is_memory("/dev/shm")) return;
    const auto call = GENERATE(page_cache_call::cachestat, page_cache_call::mincore);
    const written_file file("/dev/shm");
    const cached_bytes found = cached_bytes_of(file.path, call);
    CHECK(*found.resident >= length);
    CHECK(found.dirty == 0);
    CHECK(found.writeback == 0);
    CHECK(found.missing == 0);
    const cached_bytes part = cached_part_of(file.number, file.path, {10 * page, 5 * page}, call);
    CHECK(part.resident == 5 * page);
    CHECK(part.dirty == 0);
}

TEST_CASE("page cache: parts of a file that is cut meanwhile, an empty file, one that is gone") {
    const auto call = GENERATE(page_cache_call::cachestat, page_cache_call::mincore);
    const written_file file(fs::temp_directory_path());
    const auto resident = [&](file_part part) {
        return cached_part_of(file.number, file.path, part, call).resident;
    };
    CHECK(resident({0, length}) == length);
    CHECK(resident({page / 2, page}) == page);
    fs::resize_file(file.path, 10 * page);
    CHECK(resident({0, length}) == 10 * page);
    CHECK(resident({20 * page, 5 * page}) == 0);
    fs::resize_file(file.path, 0);
    CHECK(cached_bytes_of(file.path, call).resident == 0);
    CHECK(cached_bytes_of(file.path, call).missing == 0);
    fs::remove(file.path);
    CHECK(cached_bytes_of(file.path, call).resident == 0);
    fs::create_symlink("/etc/passwd", file.path);
    CHECK_THROWS_AS(cached_bytes_of(file.path, call), io_error); // links are not followed
}

TEST_CASE("page cache: a file is asked for again only some time after its last answer") {
    const written_file file(fs::temp_directory_path());
    cached_files cached;
    const auto asks = [&] { return cached.of(file.path).resident; };
    int kept = 0;
    std::uint64_t bytes = length;
    for (; kept == 0 && bytes < 1'000 * page; bytes += page) {
        const auto before = asks();
        fs::resize_file(file.path, bytes + page);
        REQUIRE(::pwrite(file.number, "x", 1, static_cast<off_t>(bytes)) == 1);
        if (asks() == before) ++kept;
    }
    CHECK(kept == 1);
    const auto now = cached_bytes_of(file.path).resident;
    for (int times = 0; times < 1'000 && asks() != now; ++times)
        ::usleep(1'000);
    CHECK(asks() == now);
}

TEST_CASE("page cache: a sum with an unknown figure is unknown") {
    cached_bytes sum;
    sum += {10, 5, 1, 20};
    sum += {1, std::nullopt, 1, 2};
    CHECK(sum.resident == 11);
    CHECK_FALSE(sum.dirty);
    CHECK(sum.writeback == 2);
    CHECK(sum.missing == 22);
}
