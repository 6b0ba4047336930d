// What two states do not have in common.
#include <chainbase/database.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/program.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/scratch_state.hpp>

#include <filesystem>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// Two states, of which the second can be changed.
class two_states {
public:
    two_states() {
        {
            database db(folder_ / "a", quick_options());
            add_types(db);
            for (std::uint32_t n = 0; n < 600; ++n) {
                db.create<account>([&](account& a) {
                    a.name = std::string_view(std::to_string(n));
                    a.number = n;
                });
                db.create<post>([&](post& p) {
                    p.author = "same";
                    p.permlink = std::to_string(n);
                });
            }
        }
        fs::copy(folder_ / "a", folder_ / "b", fs::copy_options::recursive);
    }
    template <typename Change>
    void in_b(Change&& change) const {
        database db(folder_ / "b", quick_options());
        add_types(db);
        change(db);
    }
    [[nodiscard]] outcome diff(const std::string& rest = "") const {
        return inspect_with("diff " + (folder_ / "a").string() + " " + (folder_ / "b").string() +
                            " " + rest);
    }
    [[nodiscard]] json types(const std::string& rest = "") const {
        const json report = json::parse(diff("--json " + rest).output);
        json by_name;
        for (const json& type : report.at("types"))
            by_name[type.at("name").get<std::string>()] = type;
        return by_name;
    }

private:
    static void add_types(database& db) {
        db.add_type<account>("account");
        db.add_type<post>("post");
    }
    scratch_folder folder_;
};

} // namespace

TEST_CASE("diff of two states that are the same: exit 0") {
    const two_states states;
    const outcome result = states.diff();
    CHECK(result.code == 0);
    CHECK(result.output.find("\nthe same\n") != std::string::npos);
    states.in_b([](database& db) { db.compact(); });
    CHECK(states.diff().code == 0);
    const json report = json::parse(states.diff("--json").output);
    CHECK(report.at("schema_version") == 1);
    CHECK(report.at("same") == true);
    CHECK(report.at("rows").empty());
    CHECK(report.at("types").at(0).at("rows_b") == 600);
}

TEST_CASE("diff counts rows in one of them only and fields that differ: exit 5") {
    const two_states states;
    states.in_b([](database& db) {
        for (const std::uint32_t gone : {0U, 255U, 256U, 599U})
            db.remove(db.get(id<account>(gone)));
        db.create<account>([](account& a) { a.name = std::string_view("new"); });
        for (const std::uint32_t richer : {1U, 300U})
            db.modify(db.get(id<account>(richer)), [](account& a) { a.balance = 7; });
        db.modify(db.get(id<account>(300)), [](account& a) { a.visits = 1; });
        db.modify(db.get(id<post>(5)), [](post& p) { p.body = "long enough for a buffer"; });
    });
    const outcome result = states.diff("--json");
    CHECK(result.code == 5);
    const json types = states.types();
    const json& accounts = types.at("account");
    CHECK(accounts.at("rows_a") == 600);
    CHECK(accounts.at("rows_b") == 597);
    CHECK(accounts.at("only_a") == 4);
    CHECK(accounts.at("only_b") == 1);
    CHECK(accounts.at("changed") == 2);
    CHECK(accounts.at("fields") == json({{"balance", 2}, {"visits", 1}}));
    CHECK(types.at("post").at("fields") == json({{"body", 1}}));

    const json rows = json::parse(result.output).at("rows");
    REQUIRE(rows.size() == 8);
    CHECK(rows.at(0).at("id") == 0);
    CHECK(rows.at(0).at("b").is_null());
    CHECK(rows.at(1).at("fields") == json({"balance"}));
    CHECK(rows.at(1).at("a").at("balance") == 0);
    CHECK(rows.at(1).at("b").at("balance") == 7);
    CHECK(rows.at(6).at("a").is_null());
    CHECK(rows.at(6).at("b").at("name") == "new");
    const std::string text = states.diff().output;
    CHECK(text.find("~ account 300  balance, visits\n    balance: 0 -> 7\n") != std::string::npos);
    CHECK(text.find("\nnot the same\n") != std::string::npos);
}

TEST_CASE("diff leaves out fields and types that it is told to") {
    const two_states states;
    states.in_b([](database& db) {
        db.modify(db.get(id<account>(9)), [](account& a) { a.visits = a.balance = 3; });
        db.modify(db.get(id<post>(9)), [](post& p) { p.likes = 3; });
    });
    CHECK(states.diff("--ignore-field balance visits likes").code == 0);
    CHECK(states.diff("--ignore-field account.balance account.visits post.likes").code == 0);
    CHECK(states.diff("--ignore-field post.balance visits likes").code == 5);
    CHECK(states.diff("--type post --ignore-field likes").code == 0);
    CHECK(states.types("--type post").size() == 1);
    CHECK(json::parse(states.diff("--json --limit 1").output).at("rows").size() ==
          2); // a type each
    CHECK(states.diff("--type posts 2>/dev/null").code == 2);
}

TEST_CASE("diff of what is no state: exit 1") {
    const scratch_folder folder;
    CHECK(inspect_with("diff " + folder.path().string() + " " + folder.path().string() +
                       " 2>/dev/null")
              .code == 1);
}
