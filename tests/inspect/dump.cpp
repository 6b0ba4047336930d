// All objects as JSON lines: sorted, the same each time, and gone on with where a call ended.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/support/scratch_state.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace chainbase::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

std::string content_of_file(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
}

struct dumped_state {
    dumped_state() : made(build_sample_state(folder / "state")), whole(dump("")) {}
    [[nodiscard]] std::string dump(const std::string& rest) const {
        const outcome result = run(rest);
        REQUIRE(result.code == 0);
        return result.output;
    }
    [[nodiscard]] outcome run(const std::string& rest) const {
        return inspect_with("dump " + (folder / "state").string() + " " + rest);
    }
    [[nodiscard]] std::string file() const { return (folder / "dump").string(); }

    scratch_folder folder;
    sample_counts made;
    std::string whole;
};

} // namespace

TEST_CASE("a dump has all objects: the types by name and the objects by id") {
    const dumped_state state;
    std::istringstream in(state.whole);
    std::string line;
    std::getline(in, line);
    const json head = json::parse(line);
    CHECK(head.at("schema_version") == 1);
    CHECK(head.at("revision") == 12);
    CHECK(head.at("types").size() == 4);
    CHECK(head.at("types").at(1).at("name") == "marker");
    std::vector<std::pair<std::string, std::uint32_t>> rows;
    json last;
    while (std::getline(in, line)) {
        last = json::parse(line);
        if (last.contains("complete")) break;
        if (last.contains("key")) continue; // the order of one that a function computes
        rows.emplace_back(last.begin().key(), last.begin().value().at("id"));
    }
    CHECK(std::is_sorted(rows.begin(), rows.end()));
    CHECK(rows.size() ==
          state.made.accounts + state.made.posts + state.made.tokens - state.made.removed_tokens);
    CHECK(last.at("rows") == rows.size());
    CHECK(last.at("moved") == false);
    CHECK_FALSE(std::getline(in, line));
}

TEST_CASE("a dump is the same each time, also after objects were moved") {
    const dumped_state state;
    CHECK(state.dump("") == state.whole);
    compact_sample_state(state.folder / "state");
    CHECK(state.dump("") == state.whole);
    const std::string tokens = state.dump("token account");
    CHECK(tokens.find("{\"post\"") == std::string::npos);
    CHECK(tokens.find("{\"account\"") < tokens.find("{\"token\""));
}

TEST_CASE("a dump that was cut off anywhere is gone on with, to the same bytes") {
    const dumped_state state;
    const std::size_t head = state.whole.find('\n') + 1;
    for (std::size_t cut = head; cut <= state.whole.size(); cut += 1 + state.whole.size() / 29) {
        INFO("cut after " << cut);
        std::ofstream(state.file(), std::ios::binary) << state.whole.substr(0, cut);
        CHECK(state.dump("--resume --output " + state.file()).empty());
        CHECK(content_of_file(state.file()) == state.whole);
    }
    CHECK(state.dump("--resume --output " + state.file() + " 2>/dev/null").empty());
    CHECK(content_of_file(state.file()) == state.whole);
}

TEST_CASE("a dump goes on with no file but its own, and replaces none") {
    const dumped_state state;
    const auto refused = [&](const std::string& content, const std::string& rest) {
        std::ofstream(state.file(), std::ios::binary) << content;
        const outcome result = state.run(rest + " --output " + state.file() + " 2>&1");
        CHECK(content_of_file(state.file()) == content);
        CHECK(result.output.find(state.file()) != std::string::npos);
        return result.code;
    };
    CHECK(refused("my notes\n", "") == 2);
    CHECK(refused("my notes\n", "--resume") == 1);
    CHECK(refused("", "--resume") == 1);
    CHECK(refused("{\"a\":1}\n{\"b\":2}\n", "--resume") == 1);
    CHECK(refused(state.dump("token"), "--resume") == 2); // of fewer types
    const std::size_t head = state.whole.find('\n') + 1;
    CHECK(refused(state.whole.substr(0, head) + "[1]\n", "--resume") == 1);
    CHECK(refused(state.whole.substr(0, head) + "{\"account\":{}}\n", "--resume") == 1);
    CHECK(state.run("--resume 2>/dev/null").code == 2);
    CHECK(state.run("accounts 2>/dev/null").code == 2);
    CHECK(state.run("2>/dev/null >/dev/full").code == 1);
}
