// A state of 60 types: every verb copes with them, and all sums are exact.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/exact.hpp>
#include <tests/inspect/many_types.hpp>
#include <tests/inspect/map_sums.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/unchanged.hpp>
#include <tests/support/scratch_state.hpp>

#include <sstream>
#include <string>

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
