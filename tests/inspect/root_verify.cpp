// root --verify: an object that is not as the root says is found, and named.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/rooted_state.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using nlohmann::json;
using state_root::leaf_change;
namespace fs = std::filesystem;

namespace {

/// Flips a bit of the eighth character where a text is first found among the buffers.
void flip_text(const made_state& of, const std::string& text) {
    for (const auto& entry : fs::directory_iterator(fs::path(of.path()) / "segment")) {
        if (!entry.path().filename().string().starts_with("buffers.")) continue;
        std::ifstream in(entry.path(), std::ios::binary);
        const std::string bytes(std::istreambuf_iterator<char>(in), {});
        const std::size_t at = bytes.find(text);
        if (at != std::string::npos) return flip_bit(entry.path(), 8 * (at + 7) + 1);
    }
    FAIL("no such text");
}

/// The leaf of an object of some content.
leaf_change made_up(const state_root::merkle_tree& tree, const std::string& type,
                    std::uint32_t id) {
    state_root::tree_hash hash;
    const sha256_digest key = hash.key(type, id);
    return {key, hash.leaf(key, {}), id, tree.type_numbers().at(type), true};
}

} // namespace

TEST_CASE("root verify: a root that was kept is sound") {
    const rooted_state state;
    require_sound(state);
    CHECK(state.verified().at("objects") == 1000);
    CHECK(state.verified().at("archived_objects") == 0);
    CHECK(state.verified().at("nodes") == state.root().at("tree").at("nodes"));
    state.change([](rooted_database& open) {
        open.block([&] {
            for (std::uint32_t n = 0; n < 900; n += 2)
                open.db.remove(open.db.get(id<account>(n)));
            open.db.modify(open.db.get(id<post>(7)), [](post& it) { it.body = "changed"; });
        });
    });
    require_sound(state);
    CHECK(state.verified().at("objects") == 550);
    CHECK(state.run("root", "--verify --threads 7").code == 0);
}

TEST_CASE("root verify: a bit that flipped in an object is found with its name") {
    const rooted_state state;
    flip(state, "account", 17, offsetof(account, visits));
    CHECK(state.run("root").code == 0);
    CHECK(state.run("check").code == 0); // it is a number like another
    const outcome text = state.run("root", "--verify");
    CHECK(text.code == 4);
    CHECK_THAT(text.output, Contains("account 17: its content is not what the root commits to\n"
                                     "    {\"id\":17,\"name\":\"17\",\"balance\":0,\"number\":17,"
                                     "\"group\":0,\"visits\":8}\n"));
    const json found = state.verified();
    CHECK(found.at("sound") == false);
    CHECK(found.at("faults") == 1);
    const json fault = only(found, "other_content", "account");
    CHECK(fault.at("id") == 17);
    CHECK(fault.at("archived") == false);
    CHECK(fault.at("row").at("visits") == 8);
    const auto place = [&](const char* words) { return text.output.find(words); };
    CHECK(place("damaged   1 other_content") < place("account 17: "));
    CHECK(place("account 17: ") < place("children")); // before all tables
}

TEST_CASE("root verify: a flipped bit in a text is found too") {
    const rooted_state state;
    flip_text(state, "nothing to say");
    const json fault = only(state.verified(), "other_content", "post");
    CHECK(fault.at("row").at("body") == "nothing\"to say");
}

TEST_CASE("root verify: an object that cannot be read is named and all others are looked at") {
    const rooted_state state;
    flip(state, "post", 41, offsetof(post, body) + 3); // leads to no buffer
    flip(state, "account", 3, offsetof(account, visits));
    const json found = state.verified();
    CHECK(found.at("faults") == 2);
    CHECK(found.at("objects") == 1000);
    const json fault = only(found, "unreadable", "post");
    CHECK(fault.at("id") == 41);
    CHECK(fault.at("row").is_null());
    CHECK_THAT(fault.at("what").get<std::string>(), Contains("body"));
    CHECK(only(found, "other_content", "account").at("id") == 3);
}

TEST_CASE("root verify: what the tree has not and what it has too much is named") {
    const rooted_state state;
    state.change_tree([](database&, state_root::merkle_tree& tree) {
        leaf_change gone = made_up(tree, "account", 23);
        gone.exists = false;
        tree.update({gone, made_up(tree, "post", 1234)}, nullptr);
    });
    const json found = state.verified();
    CHECK(found.at("faults") == 2);
    const json missing = only(found, "not_in_root", "account");
    CHECK(missing.at("id") == 23);
    CHECK(missing.at("what") == "in the state, not in the root");
    CHECK(missing.at("row").at("number") == 23);
    const json extra = only(found, "not_in_state", "post");
    CHECK(extra.at("id") == 1234);
    CHECK(extra.at("what") == "in the root, not in the state");
    CHECK(extra.at("row").is_null());
    CHECK(state.run("root", "--verify").code == 4);
}

TEST_CASE("root verify: objects that were removed behind the root are named") {
    const rooted_state state;
    state.change_tree([](database& db, state_root::merkle_tree&) {
        for (std::uint32_t n = 0; n < 30; ++n)
            db.remove(db.get(id<account>(899 - 10 * n)));
    });
    const json found = state.verified();
    CHECK(found.at("faults") == 30);
    const auto extra = named(found, "not_in_state");
    REQUIRE(extra.size() == 20);
    for (const json& one : extra) {
        CHECK(one.at("type") == "account");
        CHECK(one.at("id").get<int>() % 10 == 9);
    }
}

TEST_CASE("root verify: of each kind so many are named as asked") {
    const rooted_state state;
    for (std::uint32_t n = 0; n < 30; ++n)
        flip(state, "account", 10 * n, offsetof(account, visits));
    const json some = state.verified();
    CHECK(some.at("faults") == 30);
    REQUIRE(some.at("named").size() == 20);
    for (std::uint32_t n = 0; n < 20; ++n)
        CHECK(some.at("named")[n].at("id") == 10 * n);
    CHECK(state.root("--verify --limit 3").at("verified").at("named").size() == 3);
    CHECK(state.root("--verify --limit 0").at("verified").at("named").size() == 30);
}

TEST_CASE("root verify: of a stale root it tells what changed since") {
    const rooted_state state;
    {
        database db(state.path(), quick_options());
        rooted_database::add_types(db);
        session one = db.start_session();
        db.modify(db.get(id<account>(17)), [](account& it) { it.balance = 5; });
        db.modify(db.get(id<token>(0)), [](token& it) { it.code = 5; }); // is not committed to
        one.push();
    }
    const json found = state.verified();
    CHECK(found.at("sound") == false);
    CHECK(found.at("faults") == 1);
    CHECK(only(found, "other_content", "account").at("id") == 17);
    CHECK(state.run("root", "--verify").code == 4);
}

TEST_CASE("root verify: a root that is stale alone is not sound") {
    const rooted_state state;
    {
        database db(state.path(), quick_options());
        rooted_database::add_types(db);
        db.start_session().push();
    }
    const json found = state.verified();
    CHECK(found.at("sound") == false);
    CHECK(found.at("faults") == 0);
    const outcome text = state.run("root", "--verify");
    CHECK(text.code == 4);
    CHECK_THAT(text.output, !Contains("\nsound") && Contains("\nstale     nothing is wrong"));
}

TEST_CASE("root verify: a type that is gone is told with its objects") {
    const rooted_state state;
    const made_state other; // the same tree in a state that has no posts
    require_sound(state);
    {
        rooted_database from(state.path());
        database to(other.path(), quick_options());
        to.add_type<account>("account");
        archive::committed_state root(to, 0);
        root.add<account>("account");
        root.catch_up();
    }
    {
        database db(other.path(), quick_options());
        db.add_type<account>("account");
        state_root::merkle_tree tree(db);
        session one = db.start_session();
        tree.begin_anew({"account", "post"});
        tree.update({made_up(tree, "post", 4)}, nullptr);
        tree.note_revision();
        one.push();
    }
    const json found = other.report("root", "--verify").at("verified");
    CHECK(found.at("faults") == 2);
    CHECK_THAT(only(found, "tree", "state_root.types").at("what").get<std::string>(),
               Contains("a type post, which the state does not have"));
    CHECK(only(found, "not_in_state", "post").at("id") == 4);
}

TEST_CASE("root verify: compacted and loaded states have the same root") {
    const rooted_state state;
    const std::string before = state.root().at("root");
    const made_state copy;
    SECTION("compact") {
        REQUIRE(state.run("compact", "--commit").code == 0);
        require_sound(state);
        CHECK(state.root().at("root") == before);
    }
    SECTION("dump and load") {
        const std::string file = (copy.folder / "dump").string();
        REQUIRE(inspect_with("dump " + state.path() + " --output " + file).code == 0);
        const outcome loaded = inspect_with("load " + copy.path() + " " + file + " 2>&1");
        INFO(loaded.output);
        REQUIRE(loaded.code == 0);
        const json found = copy.report("root", "--verify");
        INFO(found.dump(1));
        CHECK(found.at("root") == before);
        CHECK(found.at("current") == true);
        CHECK(found.at("verified").at("sound") == true);
        rooted_database open(copy.path());
        CHECK(hex(open.root.root()) == before);
        open.add(3, 3);
        CHECK(open.root.is_current());
    }
}
