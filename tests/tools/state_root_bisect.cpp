// Two runs that are not the same: the block, the object and the field are found.
#include <chainbase/database.hpp>
#include <tools/chains/social/objects.hpp>
#include <tools/driver/bookkeeping.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/small_chain.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace {

constexpr std::uint64_t last_block = 60;

/// Block n deposits to account n % 10; in block `other` so much more.
std::vector<block> deposits(std::uint64_t other = 0, std::int64_t more = 0) {
    std::vector<block> blocks;
    block first{1, 1000, {}};
    for (int i = 0; i < 10; ++i)
        first.transactions.push_back({{encode(account(("account" + std::to_string(i)).c_str()))}});
    blocks.push_back(first);
    for (std::uint64_t number = 2; number <= last_block; ++number) {
        social::deposit one;
        one.to = ("account" + std::to_string(number % 10)).c_str();
        one.amount = static_cast<std::int64_t>(number) + (number == other ? more : 0);
        blocks.push_back(
            block_of(number, 1000 + static_cast<std::int64_t>(number), social::operation(one)));
    }
    return blocks;
}

/// Two logs, and the states of their replays.
class two_runs {
public:
    two_runs(const std::vector<block>& a, const std::vector<block>& b) {
        write_blocks(folder_ / "a.log", "social", a);
        write_blocks(folder_ / "b.log", "social", b);
    }
    void replay(const std::string& name, const std::vector<std::string>& more = {}) {
        std::vector<std::string> call{"replay",  "--block-log",  folder_ / (name + ".log"),
                                      "--state", folder_ / name, "--state-root",
                                      "all"};
        call.insert(call.end(), more.begin(), more.end());
        const driver_run run = run_driver(call);
        INFO(run.err);
        REQUIRE(run.code() == 0);
    }
    [[nodiscard]] json bisect(int code) {
        const driver_run run = run_driver({"bisect", folder_ / "a", folder_ / "b", "--json"});
        INFO(run.err);
        REQUIRE(run.code() == code);
        return run.json();
    }
    [[nodiscard]] std::string text() {
        return run_driver({"bisect", folder_ / "a", folder_ / "b"}).out;
    }
    /// One bit of account 5 of b flips where it lies, as no program does it.
    void flip_a_bit() {
        database state(folder_ / "b", {});
        state.add_type<social::account_object>("account");
        const auto& account = state.get(id<social::account_object>(5));
        const_cast<std::int64_t&>(account.created) ^= 1 << 20;
        state.close();
    }
    [[nodiscard]] std::filesystem::path folder(const std::string& name) { return folder_ / name; }

private:
    temporary_folder folder_;
};

} // namespace

TEST_CASE("of two runs of the same blocks bisect finds nothing") {
    two_runs runs(deposits(), deposits());
    runs.replay("a");
    runs.replay("b", {"--stop-at", "40"});
    const json found = runs.bisect(0);
    CHECK(found["same"] == true);
    CHECK(found["first_compared_block"] == 1);
    CHECK(found["last_compared_block"] == 40);
    runs.replay("b");
    CHECK(runs.bisect(0)["last_compared_block"] == last_block);
    CHECK_THAT(runs.text(), Contains("the roots of blocks 1 to 60 are the same") &&
                                Contains("11 objects of a were looked at"));
}

TEST_CASE("bisect finds the block that was another one and the object and the field") {
    two_runs runs(deposits(), deposits(33, 1));
    runs.replay("a");
    runs.replay("b");
    json found = runs.bisect(5);
    CHECK(found["differs"]["block"] == 33);
    CHECK(found["differs"]["same_writes"] == false);
    std::filesystem::remove_all(runs.folder("a"));
    std::filesystem::remove_all(runs.folder("b"));
    runs.replay("a", {"--stop-at", "33"});
    runs.replay("b", {"--stop-at", "33"});
    found = runs.bisect(5);
    CHECK(found["differs"]["block"] == 33);
    std::vector<std::string> differ;
    for (const json& one : found["objects"])
        for (const json& field : one["fields"])
            differ.push_back(one["type"].get<std::string>() + ' ' + one["id"].dump() + ' ' +
                             field.get<std::string>());
    CHECK(differ == std::vector<std::string>{"account 3 balance", "global 0 deposited"});
    CHECK(found["objects"][0]["a"]["balance"].get<int>() + 1 ==
          found["objects"][0]["b"]["balance"]);
    CHECK_THAT(runs.text(), Contains("account 3\n    balance: "));
}

TEST_CASE("bisect finds a flipped bit in an object that no block touched since") {
    two_runs runs(deposits(), deposits());
    runs.replay("a");
    runs.replay("b");
    runs.flip_a_bit();
    const json found = runs.bisect(5);
    CHECK(found["differs"].is_null());
    CHECK(found["a"]["fault_count"] == 0);
    CHECK(found["b"]["fault_count"] == 1);
    CHECK(found["b"]["faults"][0]["kind"] == "other_content");
    CHECK(found["b"]["faults"][0]["type"] == "account");
    CHECK(found["b"]["faults"][0]["id"] == 5);
    REQUIRE(found["objects"].size() == 1);
    CHECK(found["objects"][0]["type"] == "account");
    CHECK(found["objects"][0]["id"] == 5);
    CHECK(found["objects"][0]["fields"] == json{"created"});
}

TEST_CASE("bisect finds a flipped bit at the block that touched its object next") {
    two_runs runs(deposits(), deposits());
    runs.replay("a", {"--stop-at", "35"});
    runs.replay("b", {"--stop-at", "27"});
    runs.flip_a_bit();
    runs.replay("b", {"--stop-at", "35"}); // which deposits to account 5
    const json found = runs.bisect(5);
    CHECK(found["differs"]["block"] == 35);
    CHECK(found["differs"]["same_writes"] == false);
    REQUIRE(found["different_objects"] == 1);
    CHECK(found["objects"][0]["type"] == "account");
    CHECK(found["objects"][0]["id"] == 5);
    CHECK(found["objects"][0]["fields"] == json{"created"});
}

TEST_CASE("bisect compares files of roots too") {
    two_runs runs(deposits(), deposits(50, 7));
    runs.replay("a");
    runs.replay("b");
    const auto file = runs.folder("roots").string();
    write_file(file, run_driver({"roots", runs.folder("b").string()}).out);
    const driver_run run = run_driver({"bisect", runs.folder("a").string(), file, "--json"});
    REQUIRE(run.code() == 5);
    CHECK(run.json()["differs"]["block"] == 50);
    CHECK(run.json()["objects"].empty());
    const driver_run same = run_driver({"bisect", file, file});
    CHECK(same.code() == 0);
}

TEST_CASE("bisect refuses what has no blocks in common") {
    two_runs runs(deposits(), deposits());
    runs.replay("a", {"--keep-roots", "5", "--stop-at", "30"});
    runs.replay("b", {"--keep-roots", "5"});
    const driver_run run =
        run_driver({"bisect", runs.folder("a").string(), runs.folder("b").string()});
    CHECK(run.code() == 2);
    CHECK_THAT(run.err, Contains("blocks 26 to 30") && Contains("blocks 56 to 60"));
    const driver_run none =
        run_driver({"bisect", runs.folder("a").string(), runs.folder("none").string()});
    CHECK(none.code() == 2);
    CHECK_THAT(none.err, Contains(runs.folder("none").string()));
}

TEST_CASE("bisect finds a flipped bit when the other one is a file of roots") {
    two_runs runs(deposits(), deposits());
    runs.replay("a");
    runs.replay("b");
    const auto file = runs.folder("roots").string();
    write_file(file, run_driver({"roots", runs.folder("a").string()}).out);
    runs.flip_a_bit();
    const driver_run run = run_driver({"bisect", runs.folder("b").string(), file, "--json"});
    REQUIRE(run.code() == 5);
    const json found = run.json();
    CHECK(found["differs"].is_null());
    CHECK(found["a"]["faults"][0]["id"] == 5);
    CHECK(found["b"]["objects_looked_at"].is_null());
}

TEST_CASE("bisect tells the roots that were kept from those of the trees") {
    two_runs runs(deposits(), deposits());
    runs.replay("a");
    runs.replay("b");
    const auto damage = [&](std::uint64_t number) {
        database state(runs.folder("b"), {});
        state.add_type<driver::block_root>(driver::block_root::type_name);
        const auto* kept = state.find<driver::block_root, driver::by_number>(number);
        REQUIRE(kept);
        const_cast<std::byte&>(kept->root[7]) ^= std::byte{4};
        state.close();
    };
    SECTION("in between") {
        damage(20);
        const json found = runs.bisect(5);
        CHECK(found["differs"]["block"] == 20);
        CHECK(found["differs"]["same_again"] == 21);
        CHECK(found["different_objects"] == 0);
        CHECK_THAT(runs.text(), Contains("from block 21 on they are the same again"));
    }
    SECTION("the last one") {
        damage(last_block);
        const json found = runs.bisect(5);
        CHECK(found["differs"]["block"] == last_block);
        CHECK(found["different_objects"] == 0);
        CHECK(found["a"]["fault_count"] == 0);
        REQUIRE(found["b"]["fault_count"] == 1);
        CHECK(found["b"]["faults"][0]["kind"] == "block_root");
    }
}

TEST_CASE("as many objects are named as are asked for") {
    two_runs runs(deposits(), deposits(60, 5));
    runs.replay("b");
    runs.replay("a");
    const driver_run run = run_driver({"bisect", runs.folder("a").string(),
                                       runs.folder("b").string(), "--json", "--objects", "1"});
    CHECK(run.code() == 5);
    CHECK(run.json()["different_objects"] == 2);
    CHECK(run.json()["objects"].size() == 1);
}
