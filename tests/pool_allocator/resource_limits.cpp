// What control groups leave, read from folders that look like theirs.

#include <pool_allocator/resource_limits.hpp>

#include <catch2/catch.hpp>
#include <tests/support/scratch_state.hpp>

#include <fstream>
#include <string>

using namespace chainbase;
using namespace chainbase::test;

namespace {

/// A hierarchy of control groups, made up.
class made_up_groups {
public:
    made_up_groups() { write("own", "1:name=systemd:/elsewhere\n0::/outer/inner\n"); }

    void write(const std::string& file, const std::string& text) {
        const auto at = folder_ / file;
        std::filesystem::create_directories(at.parent_path());
        std::ofstream(at) << text;
    }
    [[nodiscard]] std::optional<resource_limits::memory_room> room() const {
        return resource_limits::least_memory_room(folder_ / "own", folder_ / "top");
    }
    [[nodiscard]] std::filesystem::path at(const std::string& name) const { return folder_ / name; }

private:
    scratch_folder folder_;
};

} // namespace

TEST_CASE("the group with the least room counts, caches do not") {
    made_up_groups groups;
    CHECK_FALSE(groups.room());
    groups.write("top/outer/memory.max", "max\n");
    groups.write("top/outer/memory.current", "5000\n");
    CHECK_FALSE(groups.room());
    groups.write("top/outer/inner/memory.max", "100000\n");
    CHECK_FALSE(groups.room()); // what is used is not known
    groups.write("top/outer/inner/memory.current", "60000\n");
    groups.write("top/outer/inner/memory.swap.max", "0\n");
    REQUIRE(groups.room());
    CHECK(groups.room()->bytes == 40'000);
    CHECK(groups.room()->limit == 100'000);
    CHECK(groups.room()->group == groups.at("top/outer/inner"));
    groups.write("top/outer/inner/memory.stat",
                 "anon 10\nfile 30000\nshmem 20000\ninactive_file 7000\nactive_file 3000\n"
                 "slab_reclaimable 500\n");
    CHECK(groups.room()->bytes == 50'500);
    groups.write("top/outer/memory.max", "6000\n");
    groups.write("top/outer/memory.swap.max", "0\n");
    CHECK(groups.room()->bytes == 1000);
    CHECK(groups.room()->group == groups.at("top/outer"));
    groups.write("top/outer/memory.current", "7000\n"); // a limit that was lowered
    CHECK(groups.room()->bytes == 0);
    groups.write("own", "0::/../outer\n"); // of another namespace
    groups.write("outer/memory.max", "10\n");
    groups.write("outer/memory.current", "10\n");
    CHECK_FALSE(groups.room());
    groups.write("own", "4:memory:/outer/inner\n"); // version 1 has other files
    CHECK_FALSE(groups.room());
}

TEST_CASE("what is kept free of a group's memory is a small part of it") {
    for (const std::uint64_t limit : {std::uint64_t{64} << 20, std::uint64_t{8} << 30}) {
        const std::uint64_t kept = resource_limits::kept_memory({0, limit, {}});
        CHECK(kept >= std::uint64_t{1} << 20);
        CHECK(kept <= limit / 32);
    }
}
