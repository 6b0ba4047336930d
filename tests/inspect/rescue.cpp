// dump --rescue: all that can be read of a damaged state.
#include <catch2/catch.hpp>
#include <tests/inspect/maintenance_support.hpp>

#include <fstream>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

TEST_CASE("a rescue has all objects but those of which a text is nowhere") {
    const sample state;
    damage(state, "post.objects", post_field(state, 7, "body") + 6); // another slot
    const std::string file = (state.folder / "dump").string();
    const outcome result = state.run("dump", "--rescue --output " + file);
    INFO(result.output);
    CHECK(result.code == 4);
    CHECK_THAT(result.output, Contains("post: 1 objects cannot be read"));
    const std::string to = (state.folder / "to").string();
    const outcome loaded = inspect_with("load " + to + " " + file + " 2>&1");
    INFO(loaded.output);
    REQUIRE(loaded.code == 0);
    CHECK(inspect_with("check " + to).code == 0);
    const outcome rest = inspect_with("dump " + to + " account token marker");
    CHECK(inspect_with("dump " + state.path() + " account token marker").output == rest.output);
    CHECK(inspect_with("count " + to + " post").output == "399\n");
    CHECK(inspect_with("get " + to + " post id 7").output.find("7") == std::string::npos);
    CHECK(inspect_with("dump " + to + " post").output.find("{\"post\":{\"id\":8,") !=
          std::string::npos);
}

TEST_CASE("a rescue of a sound state is its dump") {
    const sample state;
    const outcome rescued = inspect_with("dump " + state.path() + " --rescue");
    CHECK(rescued.code == 0);
    const std::string whole = state.content();
    const auto rows = whole.rfind('\n', whole.size() - 2) + 1;
    CHECK(rescued.output.substr(0, rows) == whole.substr(0, rows));
}

TEST_CASE("a rescue without the log has all objects and says that no block is known to be whole") {
    const sample state;
    const std::string whole = state.content();
    std::ofstream(state.path() + "/segment/undo_log") << "none";
    const outcome rescued = inspect_with("dump " + state.path() + " --rescue 2>/dev/null");
    CHECK(rescued.code == 4);
    const auto first = whole.find('\n'); // it has the revision
    const auto rows = whole.rfind('\n', whole.size() - 2) + 1;
    CHECK(rescued.output.find(whole.substr(first, rows - first)) != std::string::npos);
    const std::string warned =
        inspect_with("dump " + state.path() + " --rescue 2>&1 >/dev/null").output;
    CHECK_THAT(warned, Contains("undo_log cannot be read"));
}
