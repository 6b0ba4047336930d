// Damaged trees: every descent reports the damage; it neither crashes, nor loops forever, nor
// accepts the tree.
#include <chainbase/database.hpp>
#include <chainbase/state_root/merkle_tree.hpp>
#include <chainbase/state_root/proof.hpp>
#include <pool_allocator/base/error.hpp>

#include <boost/mp11.hpp>
#include <catch2/catch.hpp>
#include <tests/state_root/modelled_tree.hpp>
#include <tests/support/scratch_state.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using state_root::node_ref;

namespace {

constexpr std::uint32_t free_first = 10'000; ///< ids of removed objects

/// A tree of some objects, with free nodes.
class damaged_tree {
public:
    explicit damaged_tree(std::uint32_t objects) {
        std::vector<state_root::leaf_change> all;
        std::vector<state_root::leaf_change> gone;
        for (std::uint32_t id = 0; id < objects; ++id) {
            all.push_back(told_.exists(0, id, id));
            all.push_back(told_.exists(0, free_first + id, id));
            gone.push_back(told_.gone(0, free_first + id));
        }
        told_.update(all);
        told_.update(gone);
        told_.require_sound();
    }

    /// Calls change(node<C>&) with a node.
    template <typename Change>
    void change(node_ref at, Change&& change) {
        boost::mp11::mp_with_index<state_root::capacities.size()>(
            at.capacity_class(), [&](auto number) {
                using node_type = state_root::node<state_root::capacities[number]>;
                db_.modify(db_.get(id<node_type>(at.number())), change);
            });
    }
    template <typename Change>
    void change_head(Change&& change) {
        db_.modify(nodes().head(), change);
    }
    [[nodiscard]] const state_root::node_store& nodes() const { return told_.tree().nodes(); }
    [[nodiscard]] node_ref root() const { return nodes().root().value(); }
    [[nodiscard]] modelled_tree& told() noexcept { return told_; }
    [[nodiscard]] database& state() noexcept { return db_; }

    /// Requires that every descent finds the damage: object 5 is on each.
    void require_found() {
        const state_root::leaf_change one = told_.exists(0, 5, 77);
        const sha256_digest before = told_.tree().root();
        CHECK_THROWS_AS(state_root::tree_shape::of(nodes()), damaged_error);
        CHECK_THROWS_AS(state_root::find_leaf(nodes(), one.key), damaged_error);
        const auto no_content = [](auto, auto) { return sha256_digest{}; };
        CHECK_THROWS_AS(state_root::prove(nodes(), "account", 5, no_content), damaged_error);
        CHECK_THROWS_AS(told_.update({one}), damaged_error);
        const scratch_folder folder;
        database empty(folder / "state", quick_options());
        modelled_tree other(empty);
        const auto require_found_by_diff = [&] {
            const auto look = [](const state_root::difference&) {};
            CHECK_THROWS_AS(state_root::diff(nodes(), other.tree().nodes(), look), damaged_error);
            CHECK_THROWS_AS(state_root::diff(other.tree().nodes(), nodes(), look), damaged_error);
        };
        require_found_by_diff();
        other.update({one}); // a leaf that goes all the way
        require_found_by_diff();
        CHECK(told_.tree().root() == before);
    }

private:
    scratch_folder folder_;
    database db_{folder_ / "state", quick_options()};
    modelled_tree told_{db_};
};

/// That the branch of object 5 leads to.
node_ref child_of_root(damaged_tree& tree) {
    const unsigned branch = state_root::digit(tree.told().exists(0, 5, 1).key, 0);
    const auto node = tree.nodes().view(tree.root());
    REQUIRE_FALSE(node.is_leaf(branch));
    return node_ref(node.at_digit(branch).reference);
}

/// One of the smallest capacity below that.
node_ref small_node(damaged_tree& tree) {
    const auto node = tree.nodes().view(child_of_root(tree));
    for (unsigned branch = 0; branch < state_root::branches_per_node; ++branch) {
        if (!node.has(branch) || node.is_leaf(branch)) continue;
        const node_ref below(node.at_digit(branch).reference);
        if (below.capacity_class() == 0) return below;
    }
    throw std::runtime_error("no small node");
}

/// With at least two children.
std::vector<node_ref> nodes_below(const damaged_tree& tree, node_ref at) {
    std::vector<node_ref> all;
    std::vector<node_ref> children;
    const auto node = tree.nodes().view(at);
    if (node.size() > 1) all.push_back(at);
    for (unsigned branch = 0; branch < state_root::branches_per_node; ++branch)
        if (node.has(branch) && !node.is_leaf(branch))
            children.emplace_back(node.at_digit(branch).reference);
    for (const node_ref child : children) {
        const auto more = nodes_below(tree, child);
        all.insert(all.end(), more.begin(), more.end());
    }
    return all;
}

} // namespace

TEST_CASE("a node that leads to itself is found to be damage") {
    damaged_tree tree(400);
    const std::uint32_t itself = tree.root().bits();
    tree.change(tree.root(), [&](auto& node) { node.references.fill(itself); });
    tree.require_found();
}

TEST_CASE("nodes to which many ways lead are found to be damage before all ways are gone") {
    damaged_tree tree(3000);
    const std::vector<node_ref> all = nodes_below(tree, tree.root());
    REQUIRE(all.size() > 50);
    for (std::size_t i = 0; i < 50; ++i) // more than 2^50 ways to the last one
        tree.change(i == 0 ? tree.root() : all[i], [&](auto& node) {
            node.leaves = 0;
            node.references.fill(all[i + 1].bits());
        });
    CHECK_THROWS_AS(state_root::tree_shape::of(tree.nodes()), damaged_error);
    const scratch_folder folder;
    database empty(folder / "state", quick_options());
    const modelled_tree other(empty);
    const auto look = [](const state_root::difference&) {};
    CHECK_THROWS_AS(state_root::diff(tree.nodes(), other.tree().nodes(), look), damaged_error);
    CHECK_THROWS_AS(state_root::diff(other.tree().nodes(), tree.nodes(), look), damaged_error);
}

TEST_CASE("a reference to a node that is not there is found to be damage") {
    damaged_tree tree(400);
    const auto nowhere = node_ref::make(1'000'000, 2).bits();
    tree.change(tree.root(), [&](auto& node) { node.references.fill(nowhere); });
    tree.require_found();
}

TEST_CASE("a node without children in the tree is found to be damage") {
    damaged_tree tree(400);
    tree.change(child_of_root(tree), [](auto& node) { node.branches = node.leaves = 0; });
    tree.require_found();
}

TEST_CASE("a node with more children than fit is found to be damage") {
    damaged_tree tree(60); // of 4 children or so
    REQUIRE(child_of_root(tree).capacity() < state_root::branches_per_node);
    tree.change(child_of_root(tree), [](auto& node) { node.branches = 0xffff; });
    tree.require_found();
}

TEST_CASE("a node with leaves where it has no children is found to be damage") {
    damaged_tree tree(60);
    tree.change(child_of_root(tree), [](auto& node) {
        node.leaves = static_cast<std::uint16_t>(node.leaves | ~node.branches);
    });
    tree.require_found();
}

TEST_CASE("a leaf of another object than its place says is not put elsewhere") {
    damaged_tree tree(10);
    const auto node = tree.nodes().view(tree.root());
    unsigned branch = 0;
    while (!node.is_leaf(branch))
        ++branch;
    const state_root::child leaf = node.at_digit(branch);
    std::uint32_t other = 1'000;
    while (state_root::digit(tree.told().exists(0, other, 1).key, 0) == branch)
        ++other;
    const unsigned place = node.place_of(branch);
    tree.change(tree.root(), [&](auto& of) { of.references[place] = other; });
    std::vector<state_root::leaf_change> all;
    for (std::uint32_t id = 100; id < 300; ++id)
        all.push_back(tree.told().exists(0, id, id));
    CHECK_THROWS_AS(tree.told().update(all), damaged_error);
    CHECK(tree.told().tree().size() == 10);
    CHECK(state_root::find_leaf(tree.nodes(), tree.told().exists(0, leaf.reference, 1).key) ==
          std::nullopt);
}

TEST_CASE("a leaf of a type that is not there is found to be damage") {
    damaged_tree tree(10);
    tree.change(tree.root(), [](auto& node) { node.types.fill(9); });
    std::vector<state_root::leaf_change> all;
    for (std::uint32_t id = 100; id < 300; ++id)
        all.push_back(tree.told().exists(0, id, id));
    CHECK_THROWS_AS(tree.told().update(all), damaged_error);
}

TEST_CASE("two types of one name are found to be damage") {
    damaged_tree tree(10);
    using state_root::named_type;
    tree.state().modify(tree.state().get(id<named_type>(1)),
                        [](named_type& one) { one.name = "account"; });
    state_root::leaf_change same = tree.told().exists(0, 5, 77);
    same.type = 1;
    CHECK_THROWS_AS(tree.told().update({same}), damaged_error);
}

TEST_CASE("a list of free nodes that comes back to itself is found to be damage") {
    damaged_tree tree(400);
    const std::uint32_t first = tree.nodes().head().free[0];
    REQUIRE(first != 0);
    std::uint32_t last = first;
    for (std::uint32_t next = first; next != 0;) {
        last = next;
        next = tree.nodes().view(node_ref::make(next - 1, 0)).reference(0);
    }
    for (const std::uint32_t back_to : {first, last}) {
        tree.change(node_ref::make(last - 1, 0), [&](auto& node) { node.references[0] = back_to; });
        CHECK_THROWS_AS(state_root::tree_shape::of(tree.nodes()), damaged_error);
    }
}

TEST_CASE("a list of free nodes that leads to one of the tree is found to be damage") {
    damaged_tree tree(400);
    const node_ref used = small_node(tree);
    tree.change_head(
        [&](state_root::tree_head& head) { head.free[used.capacity_class()] = used.number() + 1; });
    CHECK_THROWS_AS(state_root::tree_shape::of(tree.nodes()), damaged_error);
    int found = 0; // by changes that need a node of that capacity
    for (std::uint32_t id = 1'000; id < 1'400; ++id) {
        const sha256_digest before = tree.told().tree().root();
        try {
            tree.told().update({tree.told().exists(0, id, id)});
        } catch (const damaged_error&) {
            ++found;
            CHECK(tree.told().tree().root() == before);
        }
    }
    CHECK(found > 0);
    for (std::uint32_t id = 0; id < 400; ++id) {
        const auto leaf = state_root::find_leaf(tree.nodes(), tree.told().exists(0, id, id).key);
        REQUIRE(leaf);
        CHECK(leaf->digest == tree.told().exists(0, id, id).leaf);
    }
}
