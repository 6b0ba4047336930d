// A tree over digests by id against the definition of its root.

#include <chainbase/state_root/id_tree.hpp>
#include <chainbase/state_root/sha256_pairs.hpp>
#include <pool_allocator/base/thread_pool.hpp>

#include <catch2/catch.hpp>
#include <tests/state_root/digests.hpp>
#include <tests/support/seeded.hpp>

#include <cstdint>
#include <set>
#include <span>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using state_root::climb;
using state_root::id_tree;
using state_root::leaf_update;
using state_root::no_digest;

namespace {

/// A tree and what it is to have.
class modelled {
public:
    explicit modelled(random_source& random) : random_(random) {}

    /// Of ids below `range`; each of them goes with a chance of `gone` in eight.
    std::vector<leaf_update> any_updates(std::uint64_t range, std::uint64_t most, unsigned gone) {
        leaves_by_id changed;
        for (std::uint64_t left = random_.below(most + 1); left != 0; --left)
            changed[random_.below(range)] =
                random_.below(8) < gone ? no_digest : any_digest(random_);
        std::vector<leaf_update> updates;
        for (const auto& [id, leaf] : changed)
            updates.push_back({static_cast<std::uint32_t>(id), leaf});
        return updates;
    }
    void update(const std::vector<leaf_update>& updates, thread_pool* pool) {
        tree.update(updates, pool);
        for (const leaf_update& one : updates)
            if (one.leaf == no_digest)
                expected.erase(one.id);
            else
                expected[one.id] = one.leaf;
    }
    void check() const {
        REQUIRE(tree.leaves() == expected.size());
        REQUIRE(tree.height() == defined_height(expected));
        REQUIRE(tree.root() == defined_root(expected));
        auto next = expected.begin();
        tree.each([&](std::uint32_t id, const sha256_digest& leaf) {
            REQUIRE(id == next->first);
            REQUIRE(leaf == next++->second);
        });
        REQUIRE(next == expected.end());
    }

    id_tree tree;
    leaves_by_id expected;

private:
    random_source& random_;
};

} // namespace

TEST_CASE("the root of a few leaves is what the format says") {
    id_tree tree;
    CHECK(tree.root() == no_digest);
    CHECK(tree.height() == 0);
    CHECK_FALSE(tree.reaches(0));
    sha256_digest leaf{};
    leaf[0] = std::byte{1};
    tree.update(std::vector<leaf_update>{{1, leaf}});
    sha256_digest expected = by_openssl(no_digest, leaf);
    for (int level = 0; level < 3; ++level)
        expected = by_openssl(expected, no_digest);
    CHECK(tree.root() == expected);
    tree.update(std::vector<leaf_update>{{UINT32_MAX, leaf}});
    CHECK(tree.height() == 32);
    CHECK(tree.root() == defined_root({{1, leaf}, {UINT32_MAX, leaf}}));
    tree.update(std::vector<leaf_update>{{UINT32_MAX, no_digest}});
    CHECK(tree.root() == expected);
    CHECK(tree.height() == 4);
    tree.update(std::vector<leaf_update>{{1, no_digest}, {70'000, no_digest}});
    CHECK(tree.root() == no_digest);
    CHECK(tree.bytes() == 0);
}

TEST_CASE_METHOD(seeded,
                 "after any updates the root is that of the leaves, and every path leads to it") {
    thread_pool pool(2);
    for (int round = 0; round < 8; ++round) {
        modelled one(random);
        const std::uint64_t range = std::uint64_t{1} << random.below(33);
        for (int update = 0; update < 40; ++update) {
            const unsigned gone = update < 20 ? 1 : 6;
            one.update(one.any_updates(range, update % 7 == 0 ? 1'000 : 20, gone),
                       update % 2 == 0 ? &pool : nullptr);
            one.check();
            for (int look = 0; look < 5; ++look) {
                const auto id = static_cast<std::uint32_t>(random.below(range));
                const auto found = one.expected.find(id);
                const sha256_digest leaf = found == one.expected.end() ? no_digest : found->second;
                REQUIRE(one.tree.leaf(id) == leaf);
                if (!one.tree.reaches(id)) continue;
                REQUIRE(one.tree.path(id).size() == one.tree.height());
                REQUIRE(climb(id, leaf, one.tree.path(id)) == one.tree.root());
            }
        }
    }
}

TEST_CASE_METHOD(seeded, "the root does not depend on the way to the leaves") {
    modelled grown(random);
    for (int update = 0; update < 100; ++update)
        grown.update(grown.any_updates(5'000, 200, 4), nullptr);
    std::vector<leaf_update> all;
    for (const auto& [id, leaf] : grown.expected)
        all.push_back({static_cast<std::uint32_t>(id), leaf});
    id_tree at_once;
    at_once.update(all);
    CHECK(at_once.root() == grown.tree.root());
    CHECK(at_once.bytes() <= grown.tree.bytes());
    for (leaf_update& one : all)
        one.leaf = no_digest;
    at_once.update(all);
    CHECK(at_once.bytes() == 0);
}

TEST_CASE_METHOD(seeded, "the root is the same in every way of hashing") {
    modelled one(random);
    one.update(one.any_updates(1'000, 300, 0), nullptr);
    one.update({{UINT32_MAX, any_digest(random)}}, nullptr);
    for (const sha256_way way : sha256_ways()) {
        CAPTURE(name_of(way));
        const auto pair = [&](const sha256_digest& left, const sha256_digest& right) {
            sha256_digest both{};
            const digest_pair hashed{&left, &right, &both};
            hash_pairs({&hashed, 1}, way);
            return both;
        };
        CHECK(defined_root(one.expected, pair) == one.tree.root());
    }
}

TEST_CASE_METHOD(seeded, "differences of two trees are the ids at which their leaves differ") {
    for (int round = 0; round < 60; ++round) {
        modelled a(random);
        modelled b(random);
        const std::uint64_t range = std::uint64_t{1} << random.below(22);
        a.update(a.any_updates(range, 500, 0), nullptr);
        b.update(a.any_updates(1, 0, 0), nullptr);
        std::vector<leaf_update> same;
        for (const auto& [id, leaf] : a.expected)
            same.push_back({static_cast<std::uint32_t>(id), leaf});
        if (round % 4 != 0) b.update(same, nullptr);
        b.update(b.any_updates(range * (1 + random.below(40)), 50, 3), nullptr);
        std::set<std::uint32_t> expected;
        for (const auto* one : {&a, &b})
            for (const auto& [id, leaf] : one->expected)
                if (a.tree.leaf(static_cast<std::uint32_t>(id)) !=
                    b.tree.leaf(static_cast<std::uint32_t>(id)))
                    expected.insert(static_cast<std::uint32_t>(id));
        for (const auto& [first, second] : {std::pair(&a, &b), std::pair(&b, &a)}) {
            std::vector<std::uint32_t> found;
            id_tree::differences(first->tree, second->tree,
                                 [&](std::uint32_t id) { found.push_back(id); });
            REQUIRE(std::ranges::is_sorted(found));
            REQUIRE(std::set(found.begin(), found.end()) == expected);
        }
    }
}

TEST_CASE_METHOD(
    seeded, "a tree takes less than 65 bytes an object, and little more where ids are missing") {
    std::vector<leaf_update> all;
    for (std::uint32_t id = 0; id < 100'000; ++id)
        all.push_back({id, any_digest(random)});
    id_tree tree;
    tree.update(all);
    const auto per_object = [&] {
        return static_cast<double>(tree.bytes()) / static_cast<double>(tree.leaves());
    };
    CHECK(per_object() < 50);
    std::vector<leaf_update> gone;
    for (std::uint32_t id = 0; id < 100'000; ++id)
        if (random.below(100) < 95) gone.push_back({id, no_digest});
    tree.update(gone);
    CHECK(per_object() < 110);
}
