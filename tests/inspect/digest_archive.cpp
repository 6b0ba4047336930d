// The digest of a state from its catalogue alone: objects count wherever they are.
#include <chainbase/database.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/archived_notes.hpp>
#include <tests/inspect/digest_support.hpp>

#include <array>
#include <filesystem>
#include <functional>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr std::array every_kind{archive::store_kind::rocksdb, archive::store_kind::memory,
                                archive::store_kind::none};

} // namespace

TEST_CASE("digest: objects count wherever they are, in each kind of archive") {
    std::string expected;
    for (const auto kind : every_kind) {
        INFO(archive::to_string(kind));
        const scratch_folder folder;
        const auto state = folder / "state";
        build_notes(state, kind);
        std::string typed;
        with_notes(state, kind, [&](database&, notes& all) { typed = test::digest_of(all); });
        CHECK(told(state) == typed);
        CHECK(told(state, "--threads 7") == typed);
        if (expected.empty()) expected = typed;
        CHECK(typed == expected);
        CHECK((told(state, "--memory") == typed) == (kind == archive::store_kind::none));

        with_notes(state, kind, [&](database& db, notes& all) {
            all.remove(id<note>(1));
            if (kind != archive::store_kind::none) all.remove(id<note>(5));
            all.hand_over(db.committed_revision());
            typed = test::digest_of(all);
        });
        CHECK(told(state) == typed);
        CHECK(typed != expected);
        const json report = json::parse(digest_with(state, "--json").output);
        for (const json& type : report.at("types")) {
            const bool is_note = type.at("name") == "note";
            CHECK(type.at("digest").is_null() != is_note);
            CHECK(type.at("why_not").is_null() == is_note);
            if (is_note && kind != archive::store_kind::none)
                CHECK(type.at("archived_rows") == 4 - 1 + 1);
        }
    }
}

TEST_CASE("digest: after the writer's death that of what the next opening gives") {
    for (const auto kind : every_kind) {
        INFO(archive::to_string(kind));
        const scratch_folder folder;
        const auto state = folder / "state";
        build_notes(state, kind);
        {
            database db(state, small_state());
            db.add_type<note>("note");
            const auto rows = archive::open_archive(db, state / "archive", kind);
            notes all(db, *rows, "note");
            auto kept = db.start_session();
            write(db, "author", "kept", 40);
            all.hand_over(db.committed_revision());
            kept.push();
            auto lost = db.start_session();
            write(db, "author", "lost", 41);
            db.abandon();
            lost.push();
        }
        const std::string dead = told(state);
        const std::string shown = inspect_with("get " + state.string() + " note id 2").output;
        CHECK(shown.find("title 2") != std::string::npos);
        std::string typed;
        with_notes(state, kind, [&](database&, notes& all) { typed = test::digest_of(all); });
        CHECK(dead == typed);
        CHECK(told(state) == typed);
    }
}

TEST_CASE("digest: rows that the archive lost are told") {
    const scratch_folder folder;
    const auto state = folder / "state";
    build_notes(state);
    fs::remove_all(state / "archive");
    const outcome result = digest_with(state, "2>&1");
    CHECK(result.code == 1);
    CHECK(result.output.find("handed over 4") != std::string::npos);
    CHECK(digest_with(state, "--memory").code == 0);
}
