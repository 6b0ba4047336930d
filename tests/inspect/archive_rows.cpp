#include <archive/store.hpp>
#include <archive/write_batch.hpp>
#include <tools/inspect/archive/archive.hpp>

#include <catch2/catch.hpp>
#include <tests/inspect/unchanged.hpp>
#include <tests/support/scratch_state.hpp>

#include <array>
#include <fstream>

using namespace chainbase;
using namespace chainbase::test;

namespace {

void put_rows(archive::store& store, archive::table_id table, std::uint32_t first,
              std::uint32_t last) {
    archive::write_batch batch;
    const std::array<std::byte, 3> record{std::byte{1}, std::byte{2}, std::byte{3}};
    for (std::uint32_t id = first; id < last; ++id)
        batch.put(table, id, record, {});
    store.write(batch);
}

} // namespace

TEST_CASE("no archive is nothing") {
    const scratch_folder scratch;
    CHECK_FALSE(inspect::read_archive(scratch.path()));
}

TEST_CASE("rows of the archive are counted beside its writer and after it, changing nothing") {
    const scratch_folder scratch;
    const auto folder = scratch / "archive";
    {
        const auto store = archive::open_store(folder);
        const archive::table_id comments = store->open_table("comment");
        (void)store->open_table("empty");
        put_rows(*store, comments, 0, 100);
        const folder_image before = image_of(folder);
        const auto found = inspect::read_archive(scratch.path());
        CHECK(image_of(folder) == before);
        REQUIRE(found);
        INFO(found->refusal);
        REQUIRE(found->tables.size() == 2);
        CHECK(found->tables[0].name == "comment");
        CHECK(found->tables[0].rows == 100);
        CHECK(found->tables[1].rows == 0);
        put_rows(*store, comments, 100, 250);
        CHECK(inspect::read_archive(scratch.path())->rows() == 250);
    }
    CHECK(inspect::read_archive(scratch.path())->rows() == 250);
}

TEST_CASE("an archive that cannot be read is told in words") {
    const scratch_folder scratch;
    std::filesystem::create_directory(scratch / "archive");
    std::ofstream(scratch / "archive/notes.txt") << "something else";
    const auto found = inspect::read_archive(scratch.path());
    REQUIRE(found);
    CHECK(found->refusal.find("archive") != std::string::npos);
    CHECK(found->tables.empty());
}
