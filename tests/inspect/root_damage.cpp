// root --verify: damage to the tree itself is found, and named.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/rooted_state.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using nlohmann::json;
using state_root::node_ref;
using state_root::node_source;
using state_root::node_view;
namespace fs = std::filesystem;

namespace {

/// A node in the tree with a child that is a node, and that child.
struct edge {
    node_ref parent;
    unsigned place = 0; ///< of the child in its arrays
    node_ref node;
};

template <typename Wanted>
std::optional<edge> find_edge(const node_source& tree, node_ref at, Wanted wanted) {
    const node_view node = tree.view(at);
    for (unsigned digit = 0; digit < 16; ++digit) {
        if (!node.has(digit) || node.is_leaf(digit)) continue;
        const node_ref below(node.at_digit(digit).reference);
        if (wanted(tree.view(below))) return edge{at, node.place_of(digit), below};
        if (const auto found = find_edge(tree, below, wanted)) return found;
    }
    return std::nullopt;
}

/// One whose child has no nodes below it.
edge some_edge(const rooted_state& state) {
    std::optional<edge> found;
    state.change([&](rooted_database& open) {
        const node_source& tree = open.root.tree().nodes();
        found = find_edge(tree, *tree.root(),
                          [](const node_view& node) { return node.leaves() == node.branches(); });
    });
    REQUIRE(found.has_value());
    return *found;
}

std::string type_of(node_ref node) {
    return "state_root.nodes" + std::to_string(node.capacity());
}

void flip(const rooted_state& state, node_ref node, std::uint64_t offset) {
    test::flip(state, type_of(node), node.number(), offset);
}

/// Puts another value into a node.
template <typename T>
void overwrite(const rooted_state& state, node_ref node, std::uint64_t offset, T value) {
    const auto file = fs::path(state.path()) / "segment" / (type_of(node) + ".objects");
    std::fstream both(file, std::ios::binary | std::ios::in | std::ios::out);
    both.seekp(static_cast<std::streamoff>(place_of(state, type_of(node), node.number()) + offset));
    both.write(reinterpret_cast<const char*>(&value), sizeof value);
}

std::uint64_t digest_at(unsigned place) {
    return node_view::digests_at + 32 * place + 7;
}

} // namespace

TEST_CASE("root verify: a flipped bit in the digest of a leaf is the node's") {
    const rooted_state state;
    const edge where = some_edge(state);
    flip(state, where.node, digest_at(1));
    const json found = state.verified();
    CHECK(found.at("faults") == 2);
    const json node = only(found, "node", type_of(where.node));
    CHECK(node.at("id") == where.node.number());
    CHECK_THAT(node.at("what").get<std::string>(),
               Contains("its digest is not the one that its parent, " + type_of(where.parent) +
                        " " + std::to_string(where.parent.number())));
    CHECK(node.at("row").is_null());
    REQUIRE(named(found, "other_content").size() == 1);
    CHECK_THAT(named(found, "other_content")[0].at("what").get<std::string>(),
               Contains("but " + type_of(where.node) + " " + std::to_string(where.node.number()) +
                        ", which has its leaf, is damaged"));
}

TEST_CASE("root verify: a flipped bit in the digest of a node is found") {
    const rooted_state state;
    const edge where = some_edge(state);
    flip(state, where.parent, digest_at(where.place));
    const json found = state.verified();
    CHECK(found.at("faults_by_kind").at("other_content") == 0);
    bool is_named = false;
    for (const json& one : named(found, "node"))
        is_named = is_named ||
                   (one.at("type") == type_of(where.node) && one.at("id") == where.node.number());
    CHECK(is_named);
    CHECK(found.at("sound") == false);
}

TEST_CASE("root verify: a flipped bit in a reference is found") {
    const rooted_state state;
    const edge where = some_edge(state);
    SECTION("of a node") {
        flip(state, where.parent,
             node_view::references_at(where.parent.capacity()) + 4 * where.place + 2);
        const json found = state.verified();
        CHECK(found.at("faults_by_kind").at("not_in_root").get<int>() > 0);
        const auto nodes = named(found, "node");
        REQUIRE_FALSE(nodes.empty());
        CHECK_THAT(nodes[0].at("what").get<std::string>(), Contains("which there is not"));
        bool is_lost = false;
        for (const json& one : nodes)
            is_lost = is_lost || (one.at("id") == where.node.number() &&
                                  one.at("what") == "no node leads to it");
        CHECK(is_lost);
    }
    SECTION("of a leaf") {
        flip(state, where.node, node_view::references_at(where.node.capacity()) + 2);
        const json found = state.verified();
        CHECK(found.at("faults") == 2);
        CHECK(named(found, "not_in_root").size() == 1);
        CHECK(named(found, "not_in_state").size() == 1);
    }
    SECTION("of a leaf, which is then of another object") {
        flip(state, where.node, node_view::references_at(where.node.capacity()));
        const json found = state.verified();
        CHECK(found.at("faults") == 2);
        CHECK(named(found, "not_in_root").size() == 1);
        REQUIRE(named(found, "node").size() == 1);
        CHECK_THAT(named(found, "node")[0].at("what").get<std::string>(),
                   Contains("of which there is another one"));
    }
    SECTION("of the type of a leaf") {
        flip(state, where.node, node_view::types_at(where.node.capacity()));
        const json found = state.verified();
        CHECK(named(found, "not_in_root").size() == 1);
        CHECK_THAT(only(found, "node", type_of(where.node)).at("what").get<std::string>(),
                   Contains("of a type"));
        CHECK_THAT(state.run("root").output, Contains("(no type has the number "));
    }
}

TEST_CASE("root verify: a flipped bit in the branches and leaves of a node is found") {
    const rooted_state state;
    const edge where = some_edge(state);
    SECTION("branches") {
        flip(state, where.node, 4);
    }
    SECTION("leaves") {
        flip(state, where.node, 6);
    }
    const json found = state.verified();
    CHECK(found.at("sound") == false);
    bool is_named = false;
    for (const json& one : named(found, "node"))
        is_named = is_named ||
                   (one.at("type") == type_of(where.node) && one.at("id") == where.node.number());
    INFO(found.dump(1));
    CHECK(is_named);
    CHECK(state.run("root").code == 0);
}

TEST_CASE("root verify: nodes that no tree has are named") {
    const rooted_state state;
    const edge where = some_edge(state);
    std::uint16_t branches = 0;
    std::uint32_t other = 0; // a child of the root that is another node
    state.change([&](rooted_database& open) {
        const node_source& tree = open.root.tree().nodes();
        branches = tree.view(where.node).branches();
        const auto found = find_edge(tree, *tree.root(), [&](const node_view& node) {
            return node.size() > 1 && node.branches() != branches;
        });
        other = found->node.bits();
    });
    const auto free_digit = static_cast<std::uint16_t>(~branches & (branches + 1));
    const auto lowest = static_cast<std::uint16_t>(branches & -branches);
    std::string expected;
    std::string type = type_of(where.node);
    SECTION("with a leaf that is no child") {
        overwrite(state, where.node, 6, static_cast<std::uint16_t>(branches | free_digit));
        expected = "it has a leaf at a digit that has no child";
    }
    SECTION("with too many children") {
        overwrite(state, where.node, 4, std::uint16_t{0xffff});
        expected = "it has 16 children, and room for " + std::to_string(where.node.capacity());
    }
    SECTION("with one object") {
        overwrite(state, where.node, 4, lowest);
        overwrite(state, where.node, 6, lowest);
        expected = "there is but one object below it, which needs no node";
    }
    SECTION("with two parents") {
        overwrite(state, where.parent,
                  node_view::references_at(where.parent.capacity()) + 4 * where.place, other);
        expected = "two nodes lead to it, one of them " + type_of(where.parent) + " " +
                   std::to_string(where.parent.number());
        type = type_of(node_ref(other));
    }
    SECTION("that is free, and has a parent") {
        overwrite(state, where.node, 4, std::uint16_t{0});
        expected =
            "it leads to " + type + " " + std::to_string(where.node.number()) + ", which is free";
        type = type_of(where.parent);
    }
    const json found = state.verified();
    INFO(found.dump(1));
    bool is_named = false;
    for (const json& one : named(found, "node"))
        is_named = is_named || (one.at("type") == type &&
                                one.at("what").get<std::string>().ends_with(expected));
    CHECK(is_named);
    CHECK(state.root().at("types").size() == 2);
}

TEST_CASE("root verify: a flipped bit in a kept group is found") {
    const rooted_state state;
    std::optional<node_ref> root;
    state.change([&](rooted_database& open) { root = open.root.tree().nodes().root(); });
    REQUIRE(root->capacity() == 16); // of a thousand
    flip(state, *root, node_view::groups_at(16) + 32 * 2 + 5);
    const json found = state.verified();
    CHECK(found.at("faults") == 1);
    CHECK(only(found, "node", "state_root.nodes16").at("what") ==
          "the digest that it keeps of its digits 8 to 11 is not theirs");
}

TEST_CASE("root verify: a flipped bit in the head is found") {
    const rooted_state state;
    const auto at = [&](std::size_t offset) { test::flip(state, "state_root.tree", 0, offset); };
    using state_root::tree_head;
    SECTION("the root") {
        at(offsetof(tree_head, digest) + 3);
        CHECK_THAT(only(state.verified(), "tree", "state_root.tree").at("what").get<std::string>(),
                   Contains("the root is not the digest of state_root.nodes16"));
    }
    SECTION("the number of objects") {
        at(offsetof(tree_head, leaves));
        CHECK_THAT(only(state.verified(), "tree", "state_root.tree").at("what").get<std::string>(),
                   Contains("it says that the root commits to 992 objects; the nodes have 1000"));
        CHECK_THAT(state.run("root").output, Contains("call again with --verify"));
    }
    SECTION("the first node") {
        at(offsetof(tree_head, root) + 3);
        const json found = state.verified();
        CHECK_THAT(only(found, "tree", "state_root.tree").at("what").get<std::string>(),
                   Contains("which is no node of it"));
        CHECK(found.at("faults_by_kind").at("not_in_root") == 1000);
        CHECK(named(found, "not_in_root").size() == 20);
    }
    SECTION("a free node that is none") {
        at(offsetof(tree_head, free) + 1);
        CHECK_THAT(only(state.verified(), "tree", "state_root.tree").at("what").get<std::string>(),
                   Contains("its list of free nodes of 2 children leads to"));
    }
    CHECK(state.run("root", "--verify").code == 4);
}

TEST_CASE("root verify: free nodes that no list has are found") {
    const rooted_state state;
    state.change([](rooted_database& open) {
        open.block([&] {
            for (std::uint32_t n = 0; n < 900; n += 2)
                open.db.remove(open.db.get(id<account>(n)));
        });
    });
    require_sound(state);
    std::uint32_t first = 0;
    state.change([&](rooted_database& open) { first = open.root.tree().nodes().head().free[0]; });
    REQUIRE(first > 0);
    SECTION("since it goes round in circles") {
        overwrite(state, node_ref::make(first - 1, 0), node_view::references_at(2), first);
        CHECK_THAT(only(state.verified(), "tree", "state_root.tree").at("what").get<std::string>(),
                   Contains("its list of free nodes of 2 children leads to state_root.nodes2 ") &&
                       Contains("or is in it twice"));
        return;
    }
    const auto file = fs::path(state.path()) / "segment" / "state_root.tree.objects";
    const std::uint64_t at =
        place_of(state, "state_root.tree", 0) + offsetof(state_root::tree_head, free);
    for (unsigned bit = 0; bit < 32; ++bit)
        if (first >> bit & 1) flip_bit(file, 8 * at + bit);
    CHECK_THAT(only(state.verified(), "tree", "state_root.tree").at("what").get<std::string>(),
               Contains("its list of free nodes of 2 children has 0 of"));
}
