// The row browser of the web page: pages of rows by any key, and what it refuses.

#include <pool_allocator/error.hpp>
#include <tools/inspect/serve/row_browser.hpp>
#include <tools/inspect/state/schema.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/archived_notes.hpp>
#include <tests/inspect/json_lines.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_folder.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/scratch_state.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using inspect::row_request;
using inspect::rows_page;
using nlohmann::json;

namespace {

json page_of(const std::filesystem::path& state, const row_request& wanted) {
    const std::string text = rows_page(state, wanted);
    CHECK(text.starts_with("{\"schema_version\":1,"));
    return json::parse(text);
}

/// The rows of all pages, one after the other.
std::vector<json> all_pages(const std::filesystem::path& state, row_request wanted) {
    std::vector<json> rows;
    for (;;) {
        const json page = page_of(state, wanted);
        for (const json& row : page.at("rows"))
            rows.push_back(row);
        CHECK(page.at("more").get<bool>() == page.at("after").is_number());
        if (!page.at("more").get<bool>()) return rows;
        REQUIRE(page.at("rows").size() == wanted.limit);
        const json& last = rows.back();
        CHECK(page.at("after") == (wanted.with_archive ? last.at("row") : last).at("id"));
        wanted.after = page.at("after").get<std::uint32_t>();
    }
}

/// What the verb says, which reads in another way.
std::vector<json> range_of(const std::filesystem::path& state, const std::string& arguments) {
    const outcome result =
        inspect_with("range " + state.string() + " " + arguments + " --limit 0 --json");
    REQUIRE(result.code == 0);
    const std::vector<json> rows = json_lines_of(result.output);
    return {rows.begin() + 1, rows.end() - 1};
}

/// Of a type the keys that have an order.
std::vector<std::string> keys_of(const std::filesystem::path& state, const std::string& type) {
    std::vector<std::string> names{"id"};
    const inspect::schema_report found = inspect::read_schema(state, {type});
    for (const auto& key : found.types.at(0).schema.keys)
        if (!key.kind.starts_with("hashed")) names.push_back(key.name);
    return names;
}

} // namespace

TEST_CASE("serve rows: pages of every order hold each row once as range does") {
    const sample_folder of;
    for (const char* type : {"account", "post", "token"})
        for (const std::string& key : keys_of(of.state, type))
            for (const bool is_reverse : {false, true})
                for (const std::uint64_t limit : {7, 333}) {
                    INFO(type << " " << key << " " << is_reverse << " " << limit);
                    row_request wanted;
                    wanted.type = type;
                    wanted.index = key;
                    wanted.is_reverse = is_reverse;
                    wanted.limit = limit;
                    if (limit == 7 && key == "id" && is_reverse) continue; // the same again
                    const auto rows = all_pages(of.state, wanted);
                    const auto same = range_of(of.state, std::string(type) + " " + key +
                                                             (is_reverse ? " --reverse" : ""));
                    CHECK(rows == same);
                }
}

TEST_CASE("serve rows: a row is found by each of its keys") {
    const sample_folder of;
    row_request wanted;
    wanted.type = "account";
    wanted.limit = 1;
    const json first = page_of(of.state, wanted).at("rows").at(0);
    wanted.limit = 50;
    wanted.index = "by_name";
    wanted.parts = {first.at("name").get<std::string>()};
    const json found = page_of(of.state, wanted);
    REQUIRE(found.at("rows").size() == 1);
    CHECK(found.at("rows").at(0) == first);
    CHECK(found.at("more") == false);
    CHECK(found.at("revision") == of.made.revision);
    CHECK(found.at("rolled_back") == false);
    wanted.is_text = true;
    const json cells = page_of(of.state, wanted);
    CHECK(cells.at("names").at(0) == "id");
    CHECK(cells.at("cells").at(0).size() == cells.at("names").size());
    CHECK(cells.at("cells").at(0).at(0) == std::to_string(first.at("id").get<std::uint32_t>()));
    wanted.parts = {"nobody has this name"};
    wanted.is_text = false;
    CHECK_THROWS_AS(rows_page(of.state, wanted), usage_error); // it is too long for the field
    wanted.parts = {"nobody"};
    CHECK(page_of(of.state, wanted).at("rows").empty());
}

TEST_CASE("serve rows: what there is not and a page whose end is gone are refused") {
    const sample_folder of;
    const auto refused = [&](row_request wanted) {
        CHECK_THROWS_AS(rows_page(of.state, wanted), usage_error);
    };
    row_request none;
    refused(none);
    none.type = "parcel";
    refused(none);
    row_request wanted;
    wanted.type = "account";
    wanted.index = "by_weight";
    refused(wanted);
    wanted.index = "id";
    wanted.parts = {"x"};
    refused(wanted);
    row_request gone;
    gone.type = "account";
    gone.index = "by_name";
    gone.after = static_cast<std::uint32_t>(of.made.accounts + 7);
    refused(gone);
    gone.index = "id"; // whose order needs no object
    CHECK(page_of(of.state, gone).at("rows").empty());
}

TEST_CASE("serve rows: beside a writer every page is whole and goes on") {
    const sample_folder of;
    writer_process writer(of.state);
    for (const std::string& key : keys_of(of.state, "token")) {
        row_request wanted;
        wanted.type = "token";
        wanted.index = key;
        wanted.limit = 20;
        for (int page = 0; page < 10; ++page) {
            json found;
            try {
                found = page_of(of.state, wanted);
            } catch (const usage_error&) { // what it went on from was removed
                wanted.after.reset();
                continue;
            }
            for (const json& row : found.at("rows"))
                CHECK(row.at("id").is_number_unsigned());
            if (!found.at("more").get<bool>()) break;
            wanted.after = found.at("after").get<std::uint32_t>();
        }
    }
    writer.kill();
    row_request wanted;
    wanted.type = "account";
    CHECK(page_of(of.state, wanted).at("rolled_back") == true);
    CHECK(reopen_sample_state(of.state) > 0);
}

namespace {

row_request of_notes(const std::string& index, std::vector<std::string> parts = {}) {
    row_request wanted;
    wanted.type = "note";
    wanted.index = index;
    wanted.parts = std::move(parts);
    wanted.with_archive = true;
    return wanted;
}

} // namespace

TEST_CASE("serve rows: pages of memory and archive hold each row once as range does") {
    const std::uint64_t seed = new_seed();
    INFO("seed " << seed);
    for (const auto kind : {archive::store_kind::rocksdb, archive::store_kind::memory}) {
        const scratch_folder folder;
        const auto state = folder / "state";
        random_source random(seed);
        with_notes(state, kind,
                   [&](database& db, notes& all) { make_some_notes(db, all, random); });
        for (row_request wanted : {of_notes("id"), of_notes("by_weight"), of_notes("by_author"),
                                   of_notes("by_author", {"alice"}), of_notes("by_weight", {"3"})})
            for (const std::uint64_t limit : {1, 7, 333}) {
                INFO(archive::to_string(kind) << " " << wanted.index << " " << limit);
                wanted.limit = limit;
                const std::string part = wanted.parts.empty() ? "" : " " + wanted.parts[0];
                const auto expected = range_of(state, "note " + wanted.index + part + " --archive");
                CHECK(expected.size() > (wanted.parts.empty() ? 300 : 0));
                CHECK(all_pages(state, wanted) == expected);
            }
    }
}

TEST_CASE("serve rows: a key finds what is in the archive and each row says where it is") {
    for (const auto kind : {archive::store_kind::rocksdb, archive::store_kind::memory}) {
        INFO(archive::to_string(kind));
        const scratch_folder folder;
        const auto state = folder / "state";
        build_notes(state, kind); // 0 to 3 of 10 are in the archive only
        for (int n = 0; n < 10; ++n) {
            const json page =
                page_of(state, of_notes("by_title", {"author", "title " + std::to_string(n)}));
            REQUIRE(page.at("rows").size() == 1);
            CHECK(page.at("rows").at(0).at("row").at("id") == n);
            CHECK(page.at("rows").at(0).at("row").at("marks") == json({7, n}));
            CHECK(page.at("rows").at(0).at("archived") == (n < 4));
            CHECK(page.at("archive_searched") == true);
            for (row_request wanted :
                 {of_notes("id", {std::to_string(n)}),
                  of_notes("by_title", {"author", "title " + std::to_string(n)})}) {
                wanted.is_text = true;
                const json told = page_of(state, wanted);
                REQUIRE(told.at("cells").size() == 1);
                CHECK(told.at("cells").at(0).at(2) == "title " + std::to_string(n));
                CHECK(told.at("cells").at(0).back() == (n < 4 ? "archive" : "memory"));
                CHECK(told.at("names").back() == "where");
                wanted.with_archive = false;
                CHECK(page_of(state, wanted).at("cells").size() == (n < 4 ? 0 : 1));
                CHECK(page_of(state, wanted).at("names").back() == "marks");
            }
        }
        CHECK(page_of(state, of_notes("by_title", {"author", "title 10"})).at("rows").empty());
        with_notes(state, kind, [](database&, notes& all) { all.remove(id<note>(2)); });
        CHECK(page_of(state, of_notes("by_title", {"author", "title 2"})).at("rows").empty());
        CHECK(page_of(state, of_notes("id", {"2"})).at("rows").empty());
    }
}

TEST_CASE("serve rows: a page goes on where it was after its last row left memory") {
    const scratch_folder folder;
    const auto state = folder / "state";
    build_notes(state);                         // 4 and 5 are retired
    row_request wanted = of_notes("by_weight"); // 9 first
    wanted.limit = 5;
    const json first = page_of(state, wanted);
    CHECK(first.at("after") == 5);
    CHECK(first.at("rows").back().at("archived") == false);
    with_notes(state, archive::store_kind::rocksdb,
               [](database& db, notes& all) { all.hand_over(db.committed_revision()); });
    wanted.after = 5;
    const json second = page_of(state, wanted);
    REQUIRE(second.at("rows").size() == 5);
    for (int n = 4; n >= 0; --n)
        CHECK(second.at("rows").at(4 - n).at("row").at("id") == n);
    with_notes(state, archive::store_kind::rocksdb,
               [](database&, notes& all) { all.remove(id<note>(5)); });
    CHECK_THROWS_AS(rows_page(state, wanted), usage_error);
    wanted.index = "id"; // whose order needs no object
    CHECK(page_of(state, wanted).at("rows").at(0).at("row").at("id") == 6);
}

TEST_CASE("serve rows: with an archive what it cannot do is refused and its loss is told") {
    const scratch_folder folder;
    const auto state = folder / "state";
    build_notes(state);
    row_request back = of_notes("by_weight");
    back.is_reverse = true;
    CHECK_THROWS_AS(rows_page(state, back), usage_error);
    CHECK_THROWS_AS(rows_page(state, of_notes("by_title", {"author"})), usage_error);
    std::filesystem::remove_all(state / "archive");
    CHECK_THROWS_AS(rows_page(state, of_notes("id")), damaged_error);
    const sample_folder of; // has no archive
    row_request wanted = of_notes("by_name");
    wanted.type = "account";
    wanted.is_reverse = true;
    wanted.limit = 7;
    const json page = page_of(of.state, wanted);
    CHECK(page.at("archive_searched") == false);
    CHECK(page.at("rows").size() == 7);
    CHECK(page.at("rows").at(0).at("archived") == false);
    CHECK(page.at("rows").at(0).at("row").contains("name"));
}
