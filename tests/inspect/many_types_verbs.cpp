// A state of 60 types: every verb copes with them, and all sums are exact.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/exact.hpp>
#include <tests/inspect/many_types.hpp>
#include <tests/inspect/map_sums.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/unchanged.hpp>
#include <tests/support/scratch_state.hpp>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using nlohmann::json;

namespace {

constexpr std::uint32_t rows = 100;

/// The first line of the output, or all of it where a verb prints one object.
json first_of(const outcome& result) {
    REQUIRE(result.code == 0);
    return json::parse(result.output.substr(0, result.output.find("\n{")));
}

json run(const std::string& verb, const std::filesystem::path& state,
         const std::string& more = "") {
    INFO(verb << ' ' << more);
    const json found = first_of(inspect_with(verb + ' ' + state.string() + ' ' + more + " --json"));
    CHECK(found.at("schema_version") == 1);
    return found;
}

std::string name_of(std::size_t type) {
    return "type." + std::to_string(type);
}

/// Of a verb that prints rows: those between the first line and the last.
std::vector<json> rows_of(const outcome& result) {
    REQUIRE(result.code == 0);
    std::istringstream in(result.output);
    std::vector<json> lines;
    for (std::string line; std::getline(in, line);)
        lines.push_back(json::parse(line));
    REQUIRE(lines.size() >= 2);
    CHECK(lines.front().at("schema_version") == 1);
    CHECK(lines.back().at("rows") == lines.size() - 2);
    return {lines.begin() + 1, lines.end() - 1};
}

std::string digest_of(const std::filesystem::path& state) {
    return run("digest", state).at("digest");
}

std::uint64_t bytes_below(const json& part) {
    if (!part.contains("children")) return part.at("bytes").get<std::uint64_t>();
    std::uint64_t sum = 0;
    for (const json& child : part.at("children"))
        sum += bytes_below(child);
    CHECK(sum == part.at("bytes"));
    return sum;
}

} // namespace

TEST_CASE("a state of 60 types: all sums of stat and map are exact") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_many_types(state, rows);
    const inspect::state_report found = inspect::read_state(state);
    CHECK(found.consistent);
    CHECK(found.discrepancies.empty());
    require_exact(found);
    CHECK(found.total().bytes.total + found.other_files == bytes_of_files(state / "segment"));
    REQUIRE(found.types.size() == many_types);
    for (std::size_t type = 0; type < many_types; ++type) {
        CHECK(found.types[type].name == name_of(type));
        CHECK(found.types[type].objects == rows_of_type(type, rows));
    }
    require_same(inspect::read_segment_map(state), found);
}

TEST_CASE("a state of 60 types: every verb describes it, and changes nothing") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_many_types(state, rows);
    const folder_image before = content_of(state);

    CHECK(run("info", state).at("schema").at("types").size() == many_types);
    CHECK(run("schema", state).at("types").size() == many_types);
    const json stat = run("stat", state);
    std::uint64_t sum = 0;
    for (const json& type : stat.at("types"))
        sum += type.at("total").at("total").get<std::uint64_t>();
    CHECK(sum == stat.at("sums").at("types"));
    CHECK(run("map", state).at("files").size() == 2 * many_types + many_types / 3 + 27);
    const json tree = run("tree", state);
    CHECK(bytes_below(tree.at("tree")) == tree.at("bytes"));
    CHECK(run("undo", state).at("sessions").size() == 3);
    CHECK(run("check", state).at("schema_version") == 1);
    CHECK(run("locks", state).at("schema_version") == 1);
    for (std::size_t type = 0; type < many_types; ++type) {
        INFO(name_of(type));
        CHECK(run("count", state, name_of(type)).at("rows") == rows_of_type(type, rows));
        if (type == 7) continue;
        const std::string by = type % 3 == 2 ? " id 1" : " by_number 1";
        CHECK(run("get", state, name_of(type) + by).at("rows").at(0).at("number") == 1);
    }
    CHECK(content_of(state) == before);
}

TEST_CASE("a state of 60 types: its dump has every object of each") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_many_types(state, rows);
    std::istringstream lines(inspect_with("dump " + state.string()).output);
    std::map<std::string, std::uint32_t> seen;
    json last;
    for (std::string line; std::getline(lines, line);) {
        last = json::parse(line);
        if (last.size() == 1) ++seen[last.begin().key()];
    }
    CHECK(last.at("complete") == true);
    for (std::size_t type = 0; type < many_types; ++type)
        CHECK(seen[name_of(type)] == rows_of_type(type, rows));
}

TEST_CASE("a state of 60 types: rows of each in the order of a key and at random") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_many_types(state, rows);
    const folder_image before = content_of(state);
    for (std::size_t type = 0; type < many_types; ++type) {
        INFO(name_of(type));
        const bool is_ordered = type % 3 == 0;
        const std::string of = state.string() + ' ' + name_of(type) + ' ';
        const std::vector<json> all = rows_of(
            inspect_with("range " + of + (is_ordered ? "by_number" : "") + " --limit 1000 --json"));
        CHECK(all.size() == rows_of_type(type, rows));
        const std::string order = is_ordered ? "number" : "id";
        for (std::size_t row = 1; row < all.size(); ++row)
            REQUIRE(all[row - 1].at(order) < all[row].at(order));
        if (type % 3 == 1)
            CHECK(inspect_with("range " + of + "by_number --json 2>/dev/null").code == 2);
        const std::vector<json> some = rows_of(inspect_with("sample " + of + "--rows 9 --json"));
        CHECK(some.size() == (all.empty() ? 0 : 9));
        std::set<json> ids;
        for (const json& row : some) {
            CHECK(ids.insert(row.at("id")).second);
            CHECK(std::find(all.begin(), all.end(), row) != all.end());
        }
    }
    CHECK(content_of(state) == before);
}

TEST_CASE("a state of 60 types: a change of one is seen by digest and diff as one of that") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    const auto other = scratch / "other";
    build_many_types(state, rows);
    std::filesystem::copy(state, other, std::filesystem::copy_options::recursive);
    CHECK(digest_of(other) == digest_of(state));
    CHECK(run("diff", state, state.string()).at("same") == true);
    CHECK(run("diff", state, other.string()).at("same") == true);
    change_type_5(other);

    const json a = run("digest", state);
    const json b = run("digest", other);
    CHECK(a.at("digest") != b.at("digest"));
    REQUIRE(a.at("types").size() == many_types);
    for (std::size_t type = 0; type < many_types; ++type) {
        const json& one = a.at("types").at(type);
        INFO(one.dump());
        CHECK((one == b.at("types").at(type)) == (one.at("name") != "type.5"));
        CHECK(one.at("rows") ==
              rows_of_type(std::stoul(one.at("name").get<std::string>().substr(5)), rows));
    }
    const outcome differs =
        inspect_with("diff " + state.string() + ' ' + other.string() + " --json");
    CHECK(differs.code == 5);
    const json diff = json::parse(differs.output);
    CHECK(diff.at("same") == false);
    REQUIRE(diff.at("types").size() == many_types);
    for (const json& type : diff.at("types")) {
        INFO(type.dump());
        CHECK(type.at("changed") == (type.at("name") == "type.5" ? 1 : 0));
        CHECK(type.at("only_a") == 0);
        CHECK(type.at("only_b") == 0);
    }
}

TEST_CASE("a state of 60 types: top and warm tell of each") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_many_types(state, rows);
    const folder_image before = content_of(state);
    const json top = run("top", state, "--count 1 --interval 0.1");
    REQUIRE(top.at("types").size() == many_types);
    for (std::size_t type = 0; type < many_types; ++type) {
        CHECK(top.at("types").at(type).at("name") == name_of(type));
        CHECK(top.at("types").at(type).at("objects") == rows_of_type(type, rows));
    }
    for (const char* how : {"--dry-run", ""}) {
        const json warm = run("warm", state, how);
        std::set<std::string> files;
        for (const json& file : warm.at("files"))
            files.insert(file.at("file").get<std::string>());
        for (std::size_t type = 0; type < many_types; ++type)
            CHECK(files.count(name_of(type) + ".objects") == 1);
    }
    CHECK(content_of(state) == before);
}

TEST_CASE("a state of 60 types: loaded from its dump and compacted it is the same") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    const auto loaded = scratch / "loaded";
    build_many_types(state, rows);
    const std::string digest = digest_of(state);
    const std::string file = (scratch / "dump").string();
    REQUIRE(inspect_with("dump " + state.string() + " --output " + file).code == 0);
    CHECK(run("load", loaded, file).at("types").size() == many_types);
    CHECK(digest_of(loaded) == digest);
    CHECK(inspect_with("check " + loaded.string() + " >/dev/null").code == 0);

    const json told = run("compact", state, "--dry-run");
    CHECK(told.at("parts").size() == many_types + 4);
    const json done = run("compact", state, "--commit");
    REQUIRE(done.at("parts").size() == many_types + 4);
    for (std::size_t type = 0; type < many_types; ++type)
        CHECK(done.at("parts").at(type).at("name") == name_of(type));
    CHECK(digest_of(state) == digest);
    CHECK(run("diff", state, loaded.string()).at("same") == true);
    CHECK(inspect_with("check " + state.string() + " >/dev/null").code == 0);
    change_type_5(state); // goes on
    CHECK(digest_of(state) != digest);
}
