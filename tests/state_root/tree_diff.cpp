// What two trees do not have in common: every object of it, and no other.
#include <chainbase/state_root/merkle_tree.hpp>

#include <catch2/catch.hpp>
#include <tests/state_root/told_tree.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/scratch_state.hpp>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

namespace {

using object = std::pair<std::string, std::uint32_t>;
using contents = std::map<object, std::uint64_t>;

struct told_state {
    void tell(const contents& now) {
        std::vector<state_root::leaf_change> all;
        for (const auto& [which, number] : now)
            all.push_back(told.exists(which.first == "account" ? 0 : 1, which.second, number));
        told.update(all);
    }
    scratch_folder folder;
    database db{folder / "state", quick_options()};
    told_tree told{db};
};

using sides = std::pair<bool, bool>;

std::map<object, sides> expected(const contents& first, const contents& second) {
    std::map<object, sides> all;
    for (const auto& [which, number] : first) {
        const auto other = second.find(which);
        if (other == second.end() || other->second != number)
            all[which] = {true, other != second.end()};
    }
    for (const auto& [which, number] : second)
        if (first.count(which) == 0) all[which] = {false, true};
    return all;
}

} // namespace

TEST_CASE("two trees differ in what their objects differ in") {
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    random_source random(seed);
    for (int round = 0; round < 30; ++round) {
        contents first;
        contents second;
        const std::uint32_t ids = 1 + random.below(1'500);
        const std::uint32_t changed = random.below(300);
        for (std::uint32_t id = 0; id < ids; ++id)
            for (const char* type : told_tree::names) {
                const std::uint64_t number = random.next();
                if (!random.chance(changed)) first[{type, id}] = number;
                if (!random.chance(changed))
                    second[{type, id}] = random.chance(changed) ? number + 1 : number;
            }
        told_state a;
        told_state b;
        a.tell(first);
        b.tell(second);
        std::map<object, sides> found;
        sha256_digest last{};
        state_root::diff(
            a.told.tree().nodes(), b.told.tree().nodes(), [&](const state_root::difference& one) {
                const object which{std::string(one.type), one.id};
                const sha256_digest key = state_root::tree_hash().key(one.type, one.id);
                REQUIRE(last < key);
                last = key;
                REQUIRE(found.emplace(which, sides{one.in_first, one.in_second}).second);
            });
        REQUIRE(found == expected(first, second));
        REQUIRE(found.empty() == (a.told.tree().root() == b.told.tree().root()));
    }
}

namespace {

/// Counts how often nodes are looked at.
struct counted_nodes final : state_root::node_source {
    explicit counted_nodes(const state_root::node_source& tree) : nodes(tree) {}
    [[nodiscard]] const state_root::tree_head& head() const override { return nodes.head(); }
    [[nodiscard]] state_root::node_view view(state_root::node_ref node) const override {
        ++views;
        return nodes.view(node);
    }
    [[nodiscard]] std::string_view type_name(std::uint16_t number) const override {
        return nodes.type_name(number);
    }
    [[nodiscard]] std::string name() const override { return nodes.name(); }
    const state_root::node_source& nodes;
    mutable std::uint64_t views = 0;
};

} // namespace

TEST_CASE("the first difference is visited before the rest of the tree is looked at") {
    contents all;
    for (std::uint32_t id = 0; id < 5'000; ++id)
        all[{"account", id}] = id;
    told_state full;
    full.tell(all);
    for (const contents& few : {contents{}, contents{{{"account", 5'000}, 1}}}) {
        told_state other;
        other.tell(few);
        const counted_nodes nodes(full.told.tree().nodes());
        std::uint64_t visited = 0;
        state_root::diff(nodes, other.told.tree().nodes(), [&](const state_root::difference&) {
            if (visited++ == 0) CHECK(nodes.views < 10);
        });
        CHECK(visited == 5'000 + few.size());
    }
}

TEST_CASE("two trees that number their types otherwise differ in their objects alone") {
    const auto differing_objects = [](const std::set<std::string>& before, bool in_first) {
        const scratch_folder folder;
        database first(folder / "first", quick_options());
        database second(folder / "second", quick_options());
        state_root::merkle_tree a(first);
        state_root::merkle_tree b(second);
        a.begin_anew({"account", "post"});
        b.begin_anew(before); // numbers are not given twice
        b.begin_anew({"account", "post"});
        state_root::tree_hash hash;
        const auto tell = [&](state_root::merkle_tree& to, std::uint32_t end) {
            std::vector<state_root::leaf_change> all;
            for (const auto& [name, number] : to.type_numbers())
                for (std::uint32_t id = 0; id < end; ++id) {
                    const sha256_digest key = hash.key(name, id);
                    all.push_back({key, hash.leaf(key, key), id, number, true});
                }
            to.update(all, nullptr);
        };
        tell(a, in_first ? 51 : 50);
        tell(b, in_first ? 50 : 51);
        std::set<object> found;
        state_root::diff(a.nodes(), b.nodes(), [&](const state_root::difference& one) {
            CHECK(one.in_first == in_first);
            CHECK(one.in_second != in_first);
            found.emplace(one.type, one.id);
        });
        return found;
    };
    const std::set<object> expected{{"account", 50}, {"post", 50}};
    for (const bool in_first : {true, false}) {
        CHECK(differing_objects({"account", "post"}, in_first) == expected);
        CHECK(differing_objects({"post", "vote"}, in_first) == expected);
        CHECK(differing_objects({"vote"}, in_first) == expected);
    }
}
