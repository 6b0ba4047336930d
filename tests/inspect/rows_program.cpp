// get, range, count and sample as they are called.
#include <chainbase/database.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/json_lines.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/inspect/unchanged.hpp>
#include <tests/support/checkpoints_on_disk.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/scratch_state.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace chainbase::test;
using nlohmann::json;

namespace {

struct sample {
    sample() { build_sample_state(folder / "state"); }
    [[nodiscard]] outcome run(const std::string& verb, const std::string& rest) const {
        return inspect_with(verb + " " + (folder / "state").string() + " " + rest);
    }
    scratch_folder folder;
};

} // namespace

TEST_CASE("get prints the object that has a key, and changes nothing") {
    const sample made;
    const folder_image before = content_of(made.folder / "state");
    const outcome text = made.run("get", "account by_name 17");
    CHECK(text.code == 0);
    CHECK(text.output.find("id       17\nname     17\n") == 0);
    const outcome found = made.run("get", "account by_name 17 --json");
    const json report = json::parse(found.output);
    CHECK(report.at("schema_version") == 1);
    CHECK(report.at("type") == "account");
    CHECK(report.at("key") == "by_name");
    CHECK(report.at("revision") == 12);
    CHECK(report.at("rolled_back") == false);
    CHECK(report.at("rows").size() == 1);
    CHECK(report.at("rows").at(0).at("number") == 17);
    CHECK(json::parse(made.run("get", "post by_author author-3 --json").output).at("rows").size() ==
          40);
    CHECK(content_of(made.folder / "state") == before);
}

TEST_CASE("get of what is not there: exit 1 and a message; with JSON no rows") {
    const sample made;
    const outcome none = made.run("get", "account by_name nobody --json 2>/dev/null");
    CHECK(none.code == 1);
    CHECK(json::parse(none.output).at("rows").empty());
    CHECK(made.run("get", "account by_name nobody 2>&1")
              .output.find("no account has by_name nobody in memory") != std::string::npos);
}

TEST_CASE("a key that there is not: exit 2, and the ones there are") {
    const sample made;
    for (const char* call : {"account by_nam x", "acount by_name x", "account by_number x",
                             "account by_balance 1", "account"})
        CHECK(made.run("get", std::string(call) + " 2>/dev/null").code == 2);
    CHECK(made.run("range", "account by_number 2>/dev/null").code == 2);
    CHECK(made.run("get", "account by_nam x 2>&1").output.find("it has id, by_name, by_balance") !=
          std::string::npos);
}

TEST_CASE("range prints objects in order, as many as were asked for, and says whether more are") {
    const sample made;
    const auto some =
        json_lines_of(made.run("range", "account by_name --from 5 --limit 3 --json").output);
    REQUIRE(some.size() == 5);
    CHECK(some.front().at("schema_version") == 1);
    CHECK(some[1].at("name") == "5");
    CHECK(some[2].at("name") == "50");
    CHECK(some[3].at("name") == "500");
    CHECK(some.back().at("rows") == 3);
    CHECK(some.back().at("more") == true);
    const auto last =
        json_lines_of(made.run("range", "account by_name --limit 1 --reverse --json").output);
    CHECK(last.at(1).at("name") == "999");
    const auto all =
        json_lines_of(made.run("range", "post by_link author-2 --limit 0 --json").output);
    CHECK(all.size() == 42);
    CHECK(all.back().at("more") == false);
    const outcome table = made.run("range", "account by_name --from 70 --to 71 --limit 50");
    CHECK(table.output.find("id   name  balance") == 0);
    CHECK(std::count(table.output.begin(), table.output.end(), '\n') == 13);
}

TEST_CASE("count counts all, or those that have a key") {
    const sample made;
    CHECK(made.run("count", "account").output == "1,000\n");
    CHECK(made.run("count", "token").output == "500\n");
    CHECK(made.run("count", "marker").output == "0\n");
    CHECK(made.run("count", "post by_link author-4").output == "40\n");
    CHECK(made.run("count", "token id --from 2600 --to 2609").output == "10\n");
    CHECK(json::parse(made.run("count", "account by_group 3 --json").output).at("rows") == 143);
}

TEST_CASE("sample prints objects by chance, others with another seed") {
    const sample made;
    const auto rows_of = [&](const std::string& rest) {
        auto lines = json_lines_of(made.run("sample", rest + " --json").output);
        REQUIRE(lines.size() >= 2);
        return std::vector<json>(lines.begin() + 1, lines.end() - 1);
    };
    const auto some = rows_of("account --rows 20");
    CHECK(some.size() == 20);
    CHECK(rows_of("account --rows 20") == some);
    CHECK(rows_of("account --rows 20 --seed 2") != some);
    CHECK(rows_of("token --rows 400").size() == 400); // of which most ids are not in use
    CHECK(rows_of("token --rows 1000").size() == 500);
    CHECK(rows_of("marker").empty());
}

TEST_CASE("rows that stdout does not take: exit 1") {
    const sample made;
    for (const char* call : {"account by_name 17", "account by_name 17 --json"})
        CHECK(made.run("get", std::string(call) + " 2>/dev/null >/dev/full").code == 1);
    CHECK(made.run("range", "account --limit 0 --json 2>/dev/null >/dev/full").code == 1);
}

TEST_CASE("rows of a state that waits to be restored: exit 1 and why") {
    const scratch_folder folder;
    const auto state = folder / "state";
    {
        chainbase::database db(state, with_checkpoints());
        db.add_type<account>("account");
    }
    std::filesystem::remove_all(state / "segment");
    const outcome result = inspect_with("count " + state.string() + " account 2>&1");
    CHECK(result.code == 1);
    CHECK(result.output.find("checkpoint") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(state / "segment"));
}

TEST_CASE("rows of a state whose writer was killed are those of its last block") {
    const scratch_folder folder;
    build_sample_state(folder / "state");
    {
        writer_process writer(folder / "state");
        writer.kill();
    }
    const std::string state = (folder / "state").string();
    const json report = json::parse(inspect_with("count " + state + " account --json").output);
    CHECK(report.at("revision") == reopen_sample_state(folder / "state"));
}
