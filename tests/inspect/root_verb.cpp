// root: what it tells of the tree is what the tree is.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/digest_support.hpp>
#include <tests/inspect/rooted_state.hpp>

#include <array>
#include <cstdint>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using nlohmann::json;
using state_root::capacities;
using state_root::tree_shape;

namespace {

std::uint64_t sum_of(const json& numbers) {
    std::uint64_t sum = 0;
    for (const json& one : numbers)
        sum += one.get<std::uint64_t>();
    return sum;
}

} // namespace

TEST_CASE("root: it tells the root and the types and how many children nodes have") {
    const rooted_state state;
    state.change([](rooted_database& open) {
        open.block([&] { // some nodes become free
            for (std::uint32_t n = 0; n < 900; n += 3)
                open.db.remove(open.db.get(id<account>(n)));
        });
    });
    const json found = state.root();
    std::string root;
    tree_shape shape;
    std::array<std::uint32_t, capacities.size()> made{};
    state.change([&](rooted_database& open) {
        root = hex(open.root.root());
        shape = tree_shape::of(open.root.tree().nodes());
        for (unsigned number = 0; number < capacities.size(); ++number)
            made[number] = open.root.tree().nodes().made(number);
    });
    CHECK(found.at("schema_version") == 1);
    CHECK(found.at("state") == state.path());
    CHECK(found.at("root") == root);
    CHECK(found.at("revision") == 2);
    CHECK(found.at("root_revision") == 2);
    CHECK(found.at("current") == true);
    CHECK(found.at("moved") == false);
    CHECK(found.at("rolled_back") == false);
    CHECK(found.at("objects") == 700);
    CHECK(found.at("types") == json::parse(R"([{"name": "account", "objects": 600},
                                               {"name": "post", "objects": 100}])"));
    CHECK(found.at("verified").is_null());

    const json& tree = found.at("tree");
    const json& children = tree.at("nodes_by_children");
    REQUIRE(children.size() == 16);
    std::uint64_t edges = 0;
    for (unsigned number = 1; number <= 16; ++number) {
        CHECK(children[number - 1] == shape.nodes_by_children[number]);
        edges += number * children[number - 1].get<std::uint64_t>();
    }
    const std::uint64_t nodes = sum_of(children);
    CHECK(tree.at("nodes") == nodes);
    CHECK(edges == 700 + nodes - 1); // each leaf, and each node but the root, is one's child

    std::uint64_t bytes = 0;
    std::uint64_t free_bytes = 0;
    std::uint64_t free = 0;
    REQUIRE(tree.at("capacities").size() == capacities.size());
    for (unsigned number = 0; number < capacities.size(); ++number) {
        const json& of = tree.at("capacities")[number];
        CHECK(of.at("capacity") == capacities[number]);
        CHECK(of.at("nodes") == shape.nodes_by_capacity[number]);
        CHECK(of.at("free") == shape.free_by_capacity[number]);
        CHECK(of.at("nodes").get<std::uint64_t>() + of.at("free").get<std::uint64_t>() ==
              made[number]);
        const auto each = of.at("node_bytes").get<std::uint64_t>();
        bytes += each * of.at("nodes").get<std::uint64_t>();
        free_bytes += each * of.at("free").get<std::uint64_t>();
        free += of.at("free").get<std::uint64_t>();
    }
    CHECK(free > 0);
    CHECK(tree.at("array_bytes_per_child") == 38);
    CHECK(tree.at("bytes") == bytes);
    CHECK(tree.at("free_bytes") == free_bytes);
    CHECK(tree.at("dense_bytes") == nodes * 616);
    CHECK(tree.at("bytes_per_object").get<double>() ==
          Approx(static_cast<double>(bytes + free_bytes) / 700));
    CHECK(tree.at("dense_ratio").get<double>() ==
          Approx(static_cast<double>(bytes) / static_cast<double>(nodes) / 616));

    const outcome text = state.run("root");
    CHECK(text.code == 0);
    CHECK_THAT(text.output, Contains("root      " + root) && Contains("current   yes") &&
                                Contains("the best 5") && Contains("in use"));
}

TEST_CASE("root: numbers are digits") {
    const rooted_state state(10, 0);
    for (const char* wrong : {"--limit -1", "--limit 0x10", "--threads 0", "--threads 1e3"})
        CHECK(state.run("root", wrong).code == 2);
    CHECK(state.run("root", "--verify --limit 010").code == 0);
}

TEST_CASE("root: without objects it is zeros") {
    const rooted_state state(0, 0);
    const json found = state.root("--verify");
    CHECK(found.at("root") == std::string(64, '0'));
    CHECK(found.at("objects") == 0);
    CHECK(found.at("tree").at("nodes") == 0);
    CHECK(found.at("tree").at("bytes_per_object") == 0);
    CHECK(found.at("tree").at("dense_ratio") == 1);
    CHECK(found.at("verified").at("sound") == true);
    CHECK(state.run("root").code == 0);
}

TEST_CASE("root: a state without one says so and what to do") {
    const sample state;
    const outcome text = state.run("root");
    CHECK(text.code == 2);
    CHECK_THAT(text.output,
               Contains("has no state root") && Contains("open it with a program that keeps one"));
    CHECK(state.run("root", "--verify").code == 2);
}

TEST_CASE("root: one that was turned off is none") {
    const rooted_state state;
    {
        rooted_database db(state.path());
        db.root.forget();
    }
    for (const char* more : {"", "--verify"}) {
        const outcome text = state.run("root", more);
        CHECK(text.code == 2);
        CHECK_THAT(text.output, Contains("is turned off") && Contains("--state-root all"));
    }
}

namespace {

/// Called as the tree is, and something else.
struct foreign {
    chainbase::id<foreign> id;
    std::uint64_t height = 0;
    std::array<std::uint8_t, sizeof(state_root::tree_head) - 16> others{}; // as large as the tree's
    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(foreign, (), (id, height, others))
static_assert(sizeof(foreign) == sizeof(state_root::tree_head));

} // namespace

TEST_CASE("root: types of others that are called as the tree are told and are content") {
    const made_state state;
    const auto build = [&](std::uint64_t height) {
        database db(state.path(), quick_options());
        db.add_type<foreign>("state_root.tree");
        if (db.count<foreign>() == 0) db.create<foreign>([](foreign&) {});
        db.modify(db.get(id<foreign>(0)), [&](foreign& it) { it.height = height; });
    };
    build(1);
    const outcome text = state.run("root");
    CHECK(text.code == 1);
    CHECK_THAT(text.output, Contains("state_root.tree has another layout (field ") &&
                                Contains("use the chainbase-inspect of the program"));
    const std::string before = test::digest_of(state.path());
    build(2);
    CHECK(test::digest_of(state.path()) != before);
}

TEST_CASE("root: a tree of which a type is missing is of another version") {
    const made_state state;
    {
        database db(state.path(), quick_options());
        db.add_type<state_root::tree_head>(state_root::tree_head::type_name);
    }
    const outcome text = state.run("root");
    CHECK(text.code == 1);
    CHECK_THAT(text.output, Contains("state_root.types is missing"));
}

TEST_CASE("root: a tree of another format is told") {
    const rooted_state state;
    flip(state, "state_root.tree", 0, 4); // its format
    const outcome text = state.run("root");
    CHECK(text.code == 1);
    const std::uint32_t ours = state_root::tree_head::current_format;
    CHECK_THAT(text.output, Contains("is of format " + std::to_string(ours ^ 8u) +
                                     ", this version knows " + std::to_string(ours)));
}

TEST_CASE("root: the digest of a state is the same with and without a root") {
    const rooted_state with;
    const made_state without;
    {
        database db(without.path(), quick_options());
        rooted_database::add_types(db);
        for (std::uint32_t n = 0; n < 900; ++n)
            db.create<account>([&](account& one) {
                one.number = n;
                one.name = std::string_view(std::to_string(n));
            });
        for (std::uint32_t n = 0; n < 100; ++n)
            db.create<post>([&](post& one) {
                one.permlink = "post-" + std::to_string(n);
                one.body = "nothing to say";
            });
        db.create<token>([](token&) {});
    }
    CHECK(test::digest_of(with.path()) == test::digest_of(without.path()));
    const json told = json::parse(digest_with(with.path(), "--json").output);
    int of_root = 0;
    for (const json& type : told.at("types"))
        of_root += type.at("why_not") == "of the state root" ? 1 : 0;
    CHECK(of_root == 10);
}

TEST_CASE("root: states of the same content and another history are no different") {
    const rooted_state at_once;
    const rooted_state in_steps(0, 0);
    in_steps.change([](rooted_database& open) {
        open.block([&] { open.db.clear<token>(); });
        for (std::uint32_t accounts = 0; accounts < 900; accounts += 300)
            open.block([&] {
                for (std::uint32_t n = accounts; n < accounts + 300; ++n)
                    open.db.create<account>([&](account& one) {
                        one.number = n;
                        one.name = std::string_view(std::to_string(n));
                    });
            });
        open.add(0, 100);
    });
    REQUIRE(at_once.root().at("root") == in_steps.root().at("root"));
    const auto diff = [&](const std::string& rest) {
        return inspect_with("diff " + std::string(at_once.path()) + ' ' +
                            std::string(in_steps.path()) + rest);
    };
    CHECK(diff(" --type account").code == 0);
    CHECK(diff(" --type state_root.nodes16").code == 5);
    const json all = json::parse(diff(" --json").output);
    for (const json& type : all.at("types"))
        CHECK(type.at("name").get<std::string>().find("state_root") == std::string::npos);
}
