// Objects that left memory are found in the archive, as they were.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/archived_notes.hpp>
#include <tests/inspect/program.hpp>
#include <tests/support/scratch_state.hpp>

#include <string>

using namespace chainbase;
using namespace chainbase::test;
using nlohmann::json;

namespace {

json got(const std::filesystem::path& state, const std::string& rest) {
    return json::parse(
        inspect_with("get " + state.string() + " note " + rest + " --json 2>/dev/null").output);
}

} // namespace

TEST_CASE("get finds what left memory by each key of the archive") {
    for (const auto kind : {archive::store_kind::rocksdb, archive::store_kind::memory}) {
        const scratch_folder folder;
        const auto state = folder / "state";
        build_notes(state, kind); // 0 to 3 of 10 are there only
        for (int n = 0; n < 10; ++n) {
            const std::string number = std::to_string(n);
            const json wanted{{"id", n},
                              {"author", "author"},
                              {"title", "title " + number},
                              {"weight", n},
                              {"marks", {7, n}}};
            for (const std::string& key : {"id " + number, "by_title author 'title " + number + "'",
                                           "by_weight " + number + " " + number}) {
                INFO(archive::to_string(kind) << " " << key);
                const json found = got(state, key);
                const char* const where = n < 4 ? "archived_rows" : "rows";
                CHECK(found.at(where) == json::array({wanted}));
                CHECK(found.at("rows").size() + found.at("archived_rows").size() == 1);
            }
        }
        const json all = got(state, "by_author author");
        CHECK(all.at("rows").size() == 6);
        CHECK(all.at("archived_rows").size() == 4);
        CHECK(
            inspect_with("get " + state.string() + " note id 2").output.find("(in the archive)") !=
            std::string::npos);
        CHECK(inspect_with("get " + state.string() + " note id 99 2>&1")
                  .output.find("in memory or in the archive") != std::string::npos);
    }
}

TEST_CASE("get finds no archived object that was removed, and the one that took its key") {
    for (const auto kind : {archive::store_kind::rocksdb, archive::store_kind::memory}) {
        const scratch_folder folder;
        const auto state = folder / "state";
        build_notes(state, kind);
        with_notes(state, kind, [](database& db, notes& all) {
            all.remove(id<note>(1));
            all.remove(id<note>(2));
            all.create([](note& again) {
                again.author = std::string_view("author");
                again.title = std::string_view("title 2");
                again.weight = 20;
            });
            all.retire(db.get(id<note>(10)));
            all.hand_over(db.committed_revision());
        });
        INFO(archive::to_string(kind));
        CHECK(got(state, "id 1").at("archived_rows").empty());
        CHECK(got(state, "by_title author 'title 1'").at("archived_rows").empty());
        const json again = got(state, "by_title author 'title 2'").at("archived_rows");
        REQUIRE(again.size() == 1);
        CHECK(again.at(0).at("id") == 10);
        CHECK(got(state, "id 3").at("archived_rows").size() == 1);
    }
}

TEST_CASE("get finds archived objects beside their writer") {
    const scratch_folder folder;
    const auto state = folder / "state";
    build_notes(state);
    with_notes(state, archive::store_kind::rocksdb, [&](database& db, notes& all) {
        all.hand_over(db.committed_revision()); // 4 and 5
        for (int n = 0; n < 6; ++n)
            CHECK(got(state, "id " + std::to_string(n)).at("archived_rows").size() == 1);
        CHECK(got(state, "id 6").at("rows").size() == 1);
    });
}
