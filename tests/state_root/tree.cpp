// The tree of the state root: against its definition, nodes of all sizes, differences.

#include <chainbase/database.hpp>
#include <chainbase/state_root/merkle_tree.hpp>

#include <catch2/catch.hpp>
#include <tests/state_root/modelled_tree.hpp>
#include <tests/support/operation_sequence.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/seeded.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using state_root::leaf_change;

// The tree against its definition: whatever was added, changed, removed and undone, in whatever
// order and however it was cut into updates.

TEST_CASE("the root is the one that its definition gives after any changes and any undo") {
    const std::uint64_t count = test_operations(3'000);
    check_random_operations(test_seed(new_seed()), count, [&](operation_sequence& steps) {
        const auto tell = steps.tell();
        const scratch_folder folder;
        database db(folder / "state", quick_options());
        modelled_tree told(db);
        told.require_right();
        thread_pool pool(1);
        random_source random(0);
        while (steps.next(random)) {
            const std::uint32_t ids =
                steps.played() % 500 < 250 ? 2000 : 40; // it grows and shrinks
            const reference_leaves before = told.leaves();
            session block = db.start_session();
            const std::uint32_t most =
                random.chance(100) ? 600 : 60; // so many that they are shared
            const auto changes = random_changes(told, random, ids, most);
            const bool helps = random.chance(500);
            if (tell)
                tell("update " + std::to_string(changes.size()) + " of " + std::to_string(ids) +
                     " objects" + (helps ? ", with a thread that helps" : ""));
            told.update(changes, helps ? &pool : nullptr);
            if (ids == 40 && random.chance(100)) {
                std::vector<leaf_change> all;
                for (std::uint32_t id = 40; id < 2000; ++id)
                    if (random.chance(200)) all.push_back(told.gone(0, id));
                if (tell) tell("remove " + std::to_string(all.size()));
                told.update(all);
            }
            if (random.chance(300)) {
                if (tell) tell("undo");
                block.undo();
                told.leaves() = before;
            } else {
                block.push();
                if (random.chance(100)) db.commit(db.revision());
            }
            // Of a part that fails each step counts.
            if (tell || steps.played() % 10 == 1 || steps.played() == count) told.require_right();
            if (steps.played() % 100 == 1) told.require_sound();
        }
        told.require_right();
        told.require_sound();
    });
}

TEST_CASE_METHOD(modelled_tree_state, "the root of one object and of none") {
    CHECK(told.tree().root() == sha256_digest{});
    told.update({told.gone(0, 7)});
    CHECK(told.tree().root() == sha256_digest{});
    told.update({told.exists(0, 7, 1)});
    told.require_right();
    CHECK(told.tree().size() == 1);
    told.update({told.gone(0, 7)});
    CHECK(told.tree().root() == sha256_digest{});
    told.require_sound();
}

TEST_CASE_METHOD(
    modelled_tree_state,
    "an object in the place of one of another type with the same number is told from it") {
    const std::uint32_t id = told.id_of_two();
    told.update({told.exists(0, id, 1)});
    told.update({told.gone(0, id), told.exists(1, id, 1)});
    told.require_right();
    const auto key = told.exists(1, id, 1).key;
    const auto found = state_root::find_leaf(told.tree().nodes(), key);
    REQUIRE(found);
    CHECK(told.tree().nodes().type_name(found->type) == "post");
    CHECK_FALSE(state_root::find_leaf(told.tree().nodes(), told.exists(0, id, 1).key));
}

// Where nodes are, and how large their arrays are as children come and go: the smallest that they
// fit, or, so that a child that comes and goes does not move its node each time, the next one.

namespace {

constexpr unsigned branches = state_root::branches_per_node;

/// A tree that is a root with leaves below it.
class root_alone {
public:
    root_alone() {
        std::array<bool, branches> found{};
        for (std::uint32_t id = 0; ids_.size() < branches; ++id) {
            bool& here = found[state_root::digit(told_.exists(0, id, 1).key, 0)];
            if (!here) ids_.push_back(id);
            here = true;
        }
    }
    /// With so many leaves; one at a time comes or goes.
    void have(unsigned count) {
        for (; now_ < count; ++now_)
            told_.update({told_.exists(0, ids_[now_], 1)});
        for (; now_ > count; --now_)
            told_.update({told_.gone(0, ids_[now_ - 1])});
        told_.require_right();
        told_.require_sound();
    }
    /// Of the root; nothing when there is none.
    [[nodiscard]] std::optional<unsigned> capacity() const {
        const auto root = told_.tree().nodes().root();
        if (!root) return std::nullopt;
        return root->capacity();
    }
    [[nodiscard]] unsigned nodes_made() const {
        unsigned all = 0;
        for (unsigned number = 0; number < state_root::capacities.size(); ++number)
            all += told_.tree().nodes().made(number);
        return all;
    }

private:
    scratch_folder folder_;
    database state_{folder_ / "state", quick_options()};
    modelled_tree told_{state_};
    std::vector<std::uint32_t> ids_; ///< each at another branch of the root
    unsigned now_ = 0;
};

} // namespace

TEST_CASE("a node that gets children has the smallest array that they fit") {
    root_alone tree;
    CHECK_FALSE(tree.capacity());
    const unsigned expected[] = {2, 2, 3, 5, 5, 7, 7, 8, 9, 11, 11, 16, 16, 16, 16, 16};
    for (unsigned count = 1; count <= branches; ++count) {
        CAPTURE(count);
        tree.have(count);
        CHECK(tree.capacity() == expected[count - 1]);
    }
}

TEST_CASE("a node that loses children keeps its array until it is two steps too large") {
    root_alone tree;
    tree.have(branches);
    const unsigned expected[] = {3, 3, 3, 7, 7, 7, 7, 9, 9, 16, 16, 16, 16, 16, 16, 16};
    for (unsigned count = branches; count >= 1; --count) {
        CAPTURE(count);
        tree.have(count);
        CHECK(tree.capacity() == expected[count - 1]);
    }
    tree.have(0);
    CHECK_FALSE(tree.capacity());
}

TEST_CASE("a node stays where it is while one child comes and goes") {
    for (unsigned count = 1; count < branches; ++count) {
        root_alone tree;
        tree.have(count + 1);
        const auto capacity = tree.capacity();
        const unsigned made = tree.nodes_made();
        for (int times = 0; times < 3; ++times) {
            CAPTURE(count, times);
            tree.have(count);
            CHECK(tree.capacity() == capacity);
            tree.have(count + 1);
            CHECK(tree.capacity() == capacity);
        }
        CHECK(tree.nodes_made() == made);
    }
}

TEST_CASE("a node that was let go is used again") {
    root_alone tree;
    tree.have(branches);
    tree.have(1);
    const unsigned made = tree.nodes_made();
    for (int times = 0; times < 3; ++times) {
        tree.have(branches);
        tree.have(1);
    }
    CHECK(tree.nodes_made() == made);
}

namespace {

unsigned digits_alike(const sha256_digest& first, const sha256_digest& second) {
    unsigned digits = 0;
    while (state_root::digit(first, digits) == state_root::digit(second, digits))
        ++digits;
    return digits;
}

} // namespace

TEST_CASE("there is a node where two leaves begin alike and at the root") {
    const scratch_folder folder;
    database state(folder / "state", quick_options());
    modelled_tree told(state);
    const auto key_of = [&](std::uint32_t id) { return told.exists(0, id, 1).key; };
    const auto shape = [&] { return state_root::tree_shape::of(told.tree().nodes()); };
    told.update({told.exists(0, 0, 1)});
    CHECK(shape().levels == 1);
    for (unsigned digits = 0; digits < 4; ++digits) {
        CAPTURE(digits);
        std::uint32_t id = 1;
        while (digits_alike(key_of(0), key_of(id)) != digits)
            ++id;
        told.update({told.exists(0, id, 1)});
        CHECK(shape().levels == digits + 1);
        CHECK(shape().leaves == 2);
        CHECK(shape().nodes_by_children[1] == digits);
        CHECK(shape().nodes_by_children[2] == 1);
        told.update({told.gone(0, id)});
        CHECK(shape().levels == 1);
        told.require_sound();
    }
}

TEST_CASE("the levels are those of the two leaves that are alike the longest") {
    const scratch_folder folder;
    database state(folder / "state", quick_options());
    modelled_tree told(state);
    for (std::uint32_t id = 0; id < 300; ++id) {
        told.update({told.exists(0, id, 1)});
        unsigned expected = 1;
        for (auto one = told.leaves().begin(); std::next(one) != told.leaves().end(); ++one)
            expected = std::max(expected, digits_alike(one->first, std::next(one)->first) + 1);
        REQUIRE(state_root::tree_shape::of(told.tree().nodes()).levels == expected);
    }
}

// What two trees do not have in common: every object of it, and no other.

namespace {

using object = std::pair<std::string, std::uint32_t>;
using contents = std::map<object, std::uint64_t>;

struct modelled_contents : modelled_tree_state {
    void tell(const contents& now) {
        std::vector<state_root::leaf_change> all;
        for (const auto& [which, number] : now)
            all.push_back(told.exists(which.first == "account" ? 0 : 1, which.second, number));
        told.update(all);
    }
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

TEST_CASE_METHOD(seeded, "two trees differ in what their objects differ in") {
    for (int round = 0; round < 30; ++round) {
        contents first;
        contents second;
        const std::uint32_t ids = 1 + random.below(1'500);
        const std::uint32_t changed = random.below(300);
        for (std::uint32_t id = 0; id < ids; ++id)
            for (const char* type : modelled_tree::names) {
                const std::uint64_t number = random.next();
                if (!random.chance(changed)) first[{type, id}] = number;
                if (!random.chance(changed))
                    second[{type, id}] = random.chance(changed) ? number + 1 : number;
            }
        modelled_contents a;
        modelled_contents b;
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
    modelled_contents full;
    full.tell(all);
    for (const contents& few : {contents{}, contents{{{"account", 5'000}, 1}}}) {
        modelled_contents other;
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
        a.reset({"account", "post"});
        b.reset(before); // numbers are not given twice
        b.reset({"account", "post"});
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
