// load: what is no whole dump is refused, and nothing that is there is replaced.
#include <chainbase/database.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/dumped.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/support/sample_types.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("a dump with a wrong line is refused with its number and nothing is made") {
    const dumped d;
    {
        database db(d.path("from"), quick_options());
        db.add_type<token>("token");
        for (std::uint32_t n = 0; n < 3; ++n)
            db.create<token>([&](token& t) { t.code = n; });
    }
    d.dump();
    std::vector<std::string> lines = d.lines();
    REQUIRE(lines.size() == 5);
    struct fault {
        std::size_t line;
        std::string text; ///< in its place; nothing for a dump that ends before
        std::string said;
    };
    const fault one = GENERATE(values<fault>({
        {2, R"({"token":{"id":1,"code":"x","kind":0,"amount":0}})", "line 3: token: field code"},
        {2, R"({"token":{"id":1,"code":4294967296,"kind":0,"amount":0}})", "field code"},
        {2, R"({"token":{"id":1,"code":-1,"kind":0,"amount":0}})", "field code"},
        {2, R"({"token":{"id":1,"code":1.5,"kind":0,"amount":0}})", "field code"},
        {2, R"({"token":{"id":1,"kind":0,"amount":0}})", "field code is missing"},
        {2, R"({"token":{"id":1,"code":9,"kind":0,"amount":0,"more":1}})", "no field \"more\""},
        {2, R"({"token":{"id":0,"code":9,"kind":0,"amount":0}})", "line 3: token: there are two"},
        {2, R"({"token":{"id":1,"code":2,"kind":0,"amount":0}})", "token.by_code"},
        {2, R"({"coin":{"id":1}})", "line 3: neither a row"},
        {2, "no json", "line 3: no JSON"},
        {4, "", "not whole"},
        {4, R"({"schema_version":1,"rows":4,"revision":0,"moved":false,"complete":true})",
         "4 rows are counted"},
        {4, R"({"schema_version":1,"rows":3,"revision":0,"moved":true,"complete":true})",
         "--moved"},
        {4, R"({"schema_version":1,"rows":3,"revision":0,"moved":false,"complete":false})",
         "nor the last line"},
        {4, R"({"schema_version":1,"rows":"x","revision":0,"moved":false,"complete":true})",
         "number of rows"},
        {0, "{}", "line 1: no dump"},
        {0, R"({"dump":2})", "version 2"},
        {0, R"({"dump":1,"revision":1,"archive":true,"types":[]})", "rows of the archive"},
    }));
    lines[one.line] = one.text;
    if (one.text.empty()) lines.pop_back();
    d.write(lines);
    const outcome result = d.load();
    CHECK(result.code == 1);
    CHECK_THAT(result.output, Contains(one.said));
    CHECK_FALSE(fs::exists(d.path("to")));
    CHECK_FALSE(fs::exists(d.path("to.unfinished")));
}

TEST_CASE("a schema that does not fit its hash is refused") {
    const dumped d;
    build_sample_state(d.path("from"));
    d.dump();
    std::vector<std::string> lines = d.lines();
    json head = json::parse(lines[0]);
    head["types"][0]["value_bytes"] = 1000;
    lines[0] = head.dump();
    d.write(lines);
    const outcome result = d.load();
    CHECK(result.code == 1);
    CHECK_THAT(result.output, Contains("hash"));
}

TEST_CASE("nothing that is there is replaced, and what a killed load left is taken away") {
    const dumped d;
    build_sample_state(d.path("from"));
    d.dump();
    SECTION("a folder of the name") {
        fs::create_directory(d.path("to"));
        CHECK(d.load().code == 2);
        CHECK(fs::is_empty(d.path("to")));
    }
    SECTION("a folder of the other name that nobody knows") {
        fs::create_directory(d.path("to.unfinished"));
        CHECK(d.load().code == 2);
        CHECK(fs::exists(d.path("to.unfinished")));
    }
    SECTION("the remains of a call that was killed") {
        fs::create_directory(d.path("to.unfinished"));
        std::ofstream(d.path("to.unfinished") + "/unfinished");
        std::ofstream(d.path("to.unfinished") + "/half");
        CHECK(d.load().code == 0);
        CHECK_FALSE(fs::exists(d.path("to") + "/half"));
        CHECK_FALSE(fs::exists(d.path("to") + "/unfinished"));
    }
}
