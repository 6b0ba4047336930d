// A type without objects, or with one, takes little: an application has dozens of types.

#include <chainbase/statistics.hpp>

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <tests/chainbase/small_types.hpp>

#include <filesystem>
#include <string>

using namespace chainbase;
using namespace chainbase::test;

namespace {

/// What the files of the type occupy on the file system.
template <typename T>
std::uint64_t allocated(const one_type<T>& s) {
    std::uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(s.folder / "state/segment")) {
        if (entry.path().filename().string().rfind("thing.", 0) != 0) continue;
        struct stat found{};
        REQUIRE(::stat(entry.path().c_str(), &found) == 0);
        bytes += static_cast<std::uint64_t>(found.st_blocks) * 512;
    }
    return bytes;
}

template <typename T>
std::uint64_t counted(one_type<T>& s) {
    return segment_statistics::read(s.db.memory()).types[0].total().total;
}

} // namespace

TEMPLATE_TEST_CASE("a type without objects, or with one, takes little", "", item, card, ticket) {
    constexpr std::uint64_t bound = 160 << 10;
    one_type<TestType> s;
    CHECK(allocated(s) > 0);
    CHECK(allocated(s) <= bound);
    CHECK(counted(s) <= bound);
    s.add(1);
    CHECK(allocated(s) <= bound);
    CHECK(counted(s) <= bound);
    const std::uint64_t with_one = allocated(s);
    for (std::uint32_t k = 2; k < 5000; ++k)
        s.add(k, k);
    CHECK(allocated(s) > with_one);
    s.clear();
    s.add(1);
    s.db.compact();
    CHECK(counted(s) <= 3 * bound);
}
