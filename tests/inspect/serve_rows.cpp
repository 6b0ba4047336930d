// The row browser of the web page: pages of rows by any key, and what it refuses.

#include <pool_allocator/error.hpp>
#include <tools/inspect/serve/row_browser.hpp>
#include <tools/inspect/state/schema.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/support/scratch_state.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using inspect::row_request;
using inspect::rows_page;
using nlohmann::json;

namespace {

struct sample {
    scratch_folder scratch;
    std::filesystem::path state = scratch / "state";
    sample_counts made = build_sample_state(state);
};

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
        CHECK(page.at("after") == rows.back().at("id"));
        wanted.after = page.at("after").get<std::uint32_t>();
    }
}

/// What the verb says, which reads in another way.
std::vector<json> range_of(const std::filesystem::path& state, const std::string& arguments) {
    const outcome result =
        inspect_with("range " + state.string() + " " + arguments + " --limit 0 --json");
    REQUIRE(result.code == 0);
    std::vector<json> rows;
    for (std::size_t begin = 0; begin < result.output.size();) {
        const std::size_t end = result.output.find('\n', begin);
        rows.push_back(json::parse(result.output.substr(begin, end - begin)));
        begin = end + 1;
    }
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
    const sample of;
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
    const sample of;
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
    const sample of;
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
    const sample of;
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
