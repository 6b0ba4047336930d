// Snapshots of states with nothing in them, with many types, and with far apart ids.

#include <archive/record/record.hpp>
#include <chainbase/database.hpp>
#include <chainbase/index.hpp>
#include <chainbase/object/schema_of.hpp>
#include <chainbase/offline/check/state_check.hpp>
#include <chainbase/offline/snapshot_file/loading.hpp>

#include <catch2/catch.hpp>
#include <tests/support/scratch_state.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::snapshot_file;
using test::scratch_folder;

namespace fs = std::filesystem;

namespace {

struct by_value;

struct numbered {
    chainbase::id<numbered> id;
    std::uint32_t value = 0;

    using keys = chainbase::keys<hashed_unique<by_value, &numbered::value>>;
};
BOOST_DESCRIBE_STRUCT(numbered, (), (id, value))

/// Objects of these ids, whose values are twice the ids.
type_entry put_type(folder_writer& to, const std::string& name,
                    const std::vector<std::uint32_t>& ids) {
    type_entry type;
    type.schema = schema_of<numbered>(name);
    type.schema.root_bytes = object_index<numbered>::root_bytes;
    chunk_content content;
    for (const std::uint32_t id : ids) {
        numbered one;
        one.id = chainbase::id<numbered>(id);
        one.value = 2 * id;
        archive::byte_buffer record;
        archive::encode(one, record);
        content.add({id, record, false, {}});
    }
    type.objects = content.objects();
    if (ids.empty()) return type;
    type.next_id = ids.back() + 1;
    type.height = tree_height(ids.back());
    chunk_plan plan([&](const piece& one) { type.chunks.push_back(to.put(one)); });
    plan.add(piece::of({0, 32}, std::move(content)));
    plan.finish(type.height);
    type.root = type.computed_root();
    return type;
}

open_options with_windows_of(std::size_t bytes) {
    open_options how = test::quick_options();
    how.window_bytes = bytes;
    how.windows = 384;
    how.memory_folder = "none";
    return how;
}

loading_result load_into(const fs::path& state, const fs::path& from, const open_options& of) {
    loading_options how;
    how.limits.memory_folder = of.memory_folder;
    how.limits.window_bytes = of.window_bytes;
    how.limits.windows = of.windows;
    return load(folder_reader(from), state, how);
}

} // namespace

TEST_CASE("a state without types is a snapshot, and a state again") {
    const scratch_folder folder;
    manifest none;
    none.revision = 3;
    folder_writer(folder / "s").finish(none);
    const open_options how = with_windows_of(std::size_t{64} << 20);
    REQUIRE(load_into(folder / "state", folder / "s", how).objects == 0);
    REQUIRE(check::state_check(folder / "state").report().found_in_all() == 0);
    database state(folder / "state", how);
    REQUIRE(state.revision() == 3);
    state.add_type<numbered>("numbered");
    REQUIRE(state.create<numbered>([](numbered&) {}).id.value == 0);
}

TEST_CASE("sixty types are loaded, those without objects, too") {
    const scratch_folder folder;
    manifest all;
    {
        folder_writer to(folder / "s");
        for (std::uint32_t number = 10; number < 70; ++number) {
            std::vector<std::uint32_t> ids(number % 4);
            for (std::uint32_t i = 0; i < ids.size(); ++i)
                ids[i] = number * (i + 1);
            all.types.push_back(put_type(to, "numbered" + std::to_string(number), ids));
        }
        to.finish(all);
    }
    const open_options how = with_windows_of(std::size_t{64} << 20);
    REQUIRE(load_into(folder / "state", folder / "s", how).objects == all.objects());
    const check::state_check found(folder / "state");
    REQUIRE(found.report().found_in_all() == 0);
    REQUIRE(found.types().size() == 60);
    for (const check::type_check& one : found.types())
        REQUIRE(one.next_id() == all.find(one.schema().name)->next_id);
}

namespace {

/// Four objects whose ids are far apart, up to `last`, whose table has four bytes for each id.
void load_far_apart(std::uint32_t last) {
    const scratch_folder folder;
    manifest all;
    {
        folder_writer to(folder / "s");
        all.types.push_back(put_type(to, "numbered", {0, 5, last / 2, last}));
        to.finish(all);
    }
    const open_options how = with_windows_of(std::size_t{8} << 30);
    if (fs::space(folder.path()).available / 5 < last) {
        REQUIRE_THROWS_AS(load_into(folder / "state", folder / "s", how), out_of_space_error);
        WARN("skipped: too little is free in " << folder.path());
        return;
    }
    REQUIRE(load_into(folder / "state", folder / "s", how).objects == 4);
    REQUIRE(check::state_check(folder / "state").report().found_in_all() == 0);
    database state(folder / "state", how);
    state.add_type<numbered>("numbered");
    REQUIRE(state.get<numbered, by_value>(2 * last).id.value == last);
    REQUIRE(state.find(id<numbered>(last - 1)) == nullptr);
    REQUIRE(state.create<numbered>([](numbered& one) { one.value = 1; }).id.value == last + 1);
}

} // namespace

TEST_CASE("objects whose ids are far apart are loaded") {
    load_far_apart((1U << 26) - 1);
}

TEST_CASE("objects whose ids are 2^30 apart are loaded", "[.large]") { // takes 4 GiB
    load_far_apart((1U << 30) - 1);
}
