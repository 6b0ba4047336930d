// Trees whose nodes are damaged: each who reads one says so, and ends.
#include <chainbase/state_root/proof.hpp>
#include <chainbase/state_root/tree_diff.hpp>
#include <pool_allocator/error.hpp>

#include <boost/mp11.hpp>
#include <catch2/catch.hpp>
#include <tests/state_root/told_tree.hpp>
#include <tests/support/scratch_state.hpp>

#include <cstdint>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using state_root::node_ref;

namespace {

/// Two trees, of which one is damaged.
class damaged_tree {
public:
    explicit damaged_tree(std::uint32_t objects)
        : state_(folder_ / "state", quick_options()),
          other_state_(folder_ / "other", quick_options()), tree_(state_), other_(other_state_) {
        std::vector<state_root::leaf_change> all;
        for (std::uint32_t id = 0; id < objects; ++id)
            all.push_back(tree_.exists(0, id, id));
        tree_.update(all);
    }
    /// Calls change(node) with a node as it lies.
    template <typename Change>
    void damage(node_ref which, Change change) {
        using state_root::capacities;
        boost::mp11::mp_with_index<capacities.size()>(which.capacity_class(), [&](auto number) {
            using node = state_root::node<capacities[number]>;
            change(const_cast<node&>(state_.get(id<node>(which.number()))));
        });
    }
    [[nodiscard]] node_ref root() const { return *tree_.tree().nodes().root(); }
    [[nodiscard]] told_tree& tree() noexcept { return tree_; }

    void require_told() {
        const state_root::node_source& nodes = tree_.tree().nodes();
        const auto content = [](auto, auto) { return sha256_digest{}; };
        CHECK_THROWS_AS(state_root::tree_shape::of(nodes), damaged_error);
        CHECK_THROWS_AS(state_root::prove(nodes, "account", 5, content), damaged_error);
        CHECK_THROWS_AS(state_root::find_leaf(nodes, state_root::tree_hash().key("account", 5)),
                        damaged_error);
        CHECK_THROWS_AS(state_root::diff(nodes, other_.tree().nodes(), [](auto&) {}),
                        damaged_error);
        CHECK_THROWS_AS(tree_.update({tree_.exists(0, 5, 77)}), damaged_error);
    }

private:
    const scratch_folder folder_;
    database state_;
    database other_state_;
    told_tree tree_;
    told_tree other_;
};

} // namespace

TEST_CASE("a node that leads to itself is told") {
    damaged_tree one(400);
    const node_ref root = one.root();
    one.damage(root, [&](auto& node) {
        for (std::uint32_t& reference : node.references)
            reference = root.bits();
    });
    one.require_told();
}

TEST_CASE("a node that leads nowhere is told") {
    damaged_tree one(400);
    one.damage(one.root(), [&](auto& node) {
        for (std::uint32_t& reference : node.references)
            reference = node_ref::make(1'000'000, node_ref(reference).capacity_class()).bits();
    });
    one.require_told();
}

TEST_CASE("a node with no children or more than fit is told") {
    for (const std::uint16_t branches : {0, 0xffff}) {
        CAPTURE(branches);
        damaged_tree one(9);
        REQUIRE(one.root().capacity() < 16);
        one.damage(one.root(), [&](auto& node) { node.branches = branches; });
        one.require_told();
    }
}

TEST_CASE("a leaf that names an object of another place is told when it has to move") {
    damaged_tree one(10);
    one.damage(one.root(), [&](auto& node) {
        for (unsigned digit = 0, place = 0; digit < 16; ++digit) {
            if (!(node.branches >> digit & 1)) continue;
            if (node.leaves >> digit & 1) node.references[place] ^= 1u << 20;
            ++place;
        }
    });
    std::vector<state_root::leaf_change> all;
    for (std::uint32_t id = 100; id < 300; ++id)
        all.push_back(one.tree().exists(0, id, id));
    const sha256_digest before = one.tree().tree().root();
    CHECK_THROWS_AS(one.tree().update(all), damaged_error);
    CHECK(one.tree().tree().root() == before);
    CHECK(one.tree().tree().size() == 10);
}

TEST_CASE("free nodes that go round in a circle are told") {
    damaged_tree one(400);
    auto& head = const_cast<state_root::tree_head&>(one.tree().tree().nodes().head());
    for (std::uint32_t id = 0; id < 390; ++id)
        one.tree().update({one.tree().gone(0, id)});
    unsigned number = 0;
    while (head.free[number] == 0)
        ++number;
    const std::uint32_t first = head.free[number];
    one.damage(node_ref::make(first - 1, number), [&](auto& node) { node.references[0] = first; });
    CHECK_THROWS_AS(state_root::tree_shape::of(one.tree().tree().nodes()), damaged_error);
}
