#include <tools/chains/chains.hpp>
#include <tools/driver/sync/fork_tree.hpp>

#include <catch2/catch.hpp>
#include <tests/support/random_source.hpp>
#include <tests/tools/forged_block.hpp>
#include <tests/tools/payments_tree.hpp>

#include <set>

/// fork_tree alone: against a naive model, and at its limits. Nothing is applied here; the walk
/// keeps a stack of what would be.
using namespace chainbase;
using namespace chainbase::test;
using driver::block_place;
using driver::fork_tree;
using outcome = fork_tree::outcome;

namespace {

std::shared_ptr<const decoded_block> decoded(const block& one) {
    return decoder_of("payments")(encode_block(one));
}

fork_tree::incoming incoming(const payments_tree& model, std::size_t index,
                             std::uint64_t source = 0) {
    const auto& one = model.at(index);
    return {model.at(one.parent).place, one.place, decoded(one.value), source};
}

/// What a state would do with what the tree says.
struct walk {
    fork_tree& tree;
    const payments_tree& model;
    std::vector<std::size_t> applied{0}; ///< entries of the model, up to the head
    std::map<std::uint64_t, std::size_t> by_checksum;

    /// Goes to the best branch; bad blocks are found on the way.
    void go() {
        while (const auto way = tree.to_best()) {
            for (std::size_t i = 0; i < way->pops; ++i) {
                REQUIRE(tree.popped());
                applied.pop_back();
            }
            for (const decoded_block* next : way->apply) {
                const std::size_t index = by_checksum.at(next->checksum());
                REQUIRE(model.at(index).parent == applied.back());
                if (!model.at(index).is_valid) {
                    tree.reject("bad");
                    break;
                }
                tree.applied();
                applied.push_back(index);
            }
        }
    }
};

} // namespace

TEST_CASE("after any order of blocks, the tree is where a naive model is") {
    const std::uint64_t seed = new_seed();
    INFO("CHAINBASE_TEST_SEED=" << seed);
    random_source random(seed);
    for (int round = 0; round < 60; ++round) {
        const std::size_t lag = random.below(12);
        payments_tree model(lag);
        fork_tree tree({block_place{}}, lag);
        walk walk{tree, model, {0}, {}};
        const std::uint32_t bad = random.below(100);
        const std::uint32_t forks = random.below(500);
        for (int i = 0; i < 120; ++i) {
            std::size_t next = 1;
            if (i > 0) {
                const std::size_t parent =
                    random.chance(forks) ? model.any_parent(random) : model.head();
                next = model.add(parent, random, random.chance(bad));
            }
            walk.by_checksum[checksum_of(model.at(next).value)] = next;
            const outcome how = tree.insert(incoming(model, next));
            REQUIRE((how == outcome::added || how == outcome::bad));
            REQUIRE((how == outcome::added || !model.at(next).is_valid));
            walk.go();
            REQUIRE(tree.head() == model.at(model.head()).place);
            REQUIRE(tree.root() == model.at(model.root()).place);
            REQUIRE(walk.applied.back() == model.head());
            REQUIRE(tree.insert(incoming(model, next)) != outcome::added);
            static_cast<void>(tree.take_freed());
        }
    }
}

TEST_CASE("what is not linked to the tree, or not as it says, stays out") {
    random_source random(1);
    payments_tree model(2);
    fork_tree tree({block_place{}}, 2);
    walk walk{tree, model, {0}, {}};
    std::vector<std::size_t> chain{0, 1};
    for (int i = 0; i < 5; ++i)
        chain.push_back(model.add(chain.back(), random));
    const std::size_t below = model.add(chain[2], random);
    for (std::size_t i = 1; i < chain.size(); ++i)
        walk.by_checksum[checksum_of(model.at(chain[i]).value)] = chain[i];
    CHECK(tree.insert(incoming(model, chain[2])) == outcome::unlinked);
    for (std::size_t i = 1; i < chain.size(); ++i) {
        CHECK(tree.insert(incoming(model, chain[i])) == outcome::added);
        walk.go();
    }
    CHECK(tree.root() == model.at(chain[4]).place);
    CHECK(tree.insert(incoming(model, below)) == outcome::below_root);
    CHECK(tree.insert(incoming(model, chain[6])) == outcome::known);
    auto wrong = incoming(model, model.add(chain[6], random));
    wrong.parent.number -= 1;
    CHECK(tree.insert(std::move(wrong)) == outcome::wrong_numbers);
    auto falling = incoming(model, model.add(chain[6], random));
    falling.place.number = falling.parent.number;
    CHECK(tree.insert(std::move(falling)) == outcome::wrong_numbers);
}

TEST_CASE("side branches have a limit, which the chain itself has not") {
    random_source random(2);
    payments_tree model(10);
    fork_tree tree({block_place{}}, 10, {5, 1 << 20, 10});
    walk walk{tree, model, {0}, {}};
    std::size_t head = 1;
    const auto extend = [&] {
        walk.by_checksum[checksum_of(model.at(head).value)] = head;
        CHECK(tree.insert(incoming(model, head)) == outcome::added);
        walk.go();
    };
    extend();
    for (int i = 0; i < 3; ++i) {
        head = model.add(head, random);
        extend();
    }
    for (int i = 0; i < 5; ++i)
        CHECK(tree.insert(incoming(model, model.add(1, random), 7)) == outcome::added);
    CHECK(tree.insert(incoming(model, model.add(1, random), 7)) == outcome::full);
    for (int i = 0; i < 6; ++i) {
        head = model.add(head, random);
        extend();
    }
    CHECK(tree.waiting() == 5);
    tree.forget_from(7);
    CHECK(tree.waiting() == 0);
    CHECK(tree.head() == model.at(head).place);
    CHECK(tree.insert(incoming(model, model.add(1, random), 8)) == outcome::added);
}

TEST_CASE("what side branches take is what their blocks are when they are decoded") {
    random_source random(4);
    payments_tree model(10);
    fork_tree tree({block_place{}}, 10, {1000, 1 << 14, 10});
    walk walk{tree, model, {0}, {}};
    walk.by_checksum[checksum_of(model.at(1).value)] = 1;
    CHECK(tree.insert(incoming(model, 1)) == outcome::added);
    walk.go();
    const std::size_t next = model.add(1, random);
    walk.by_checksum[checksum_of(model.at(next).value)] = next;
    CHECK(tree.insert(incoming(model, next)) == outcome::added);
    walk.go();
    auto beside = incoming(model, model.add(1, random));
    beside.content = decoder_of("payments")(block_of_nothing(2, 2000, 2000));
    CHECK(beside.content->bytes() < 1 << 14);
    CHECK(tree.insert(std::move(beside)) == outcome::full);
}

TEST_CASE("ids of bad blocks are remembered, but not without end") {
    random_source random(3);
    payments_tree model(4);
    fork_tree tree({block_place{}}, 4, {100, 1 << 20, 3});
    walk walk{tree, model, {0}, {}};
    walk.by_checksum[checksum_of(model.at(1).value)] = 1;
    CHECK(tree.insert(incoming(model, 1)) == outcome::added);
    walk.go();
    std::vector<std::size_t> bad;
    for (int i = 0; i < 5; ++i) {
        bad.push_back(model.add(1, random, true));
        walk.by_checksum[checksum_of(model.at(bad.back()).value)] = bad.back();
        CHECK(tree.insert(incoming(model, bad.back())) == outcome::added);
        walk.go();
        CHECK(tree.insert(incoming(model, bad.back())) == outcome::bad);
    }
    CHECK_FALSE(tree.bad(model.at(bad[0]).place.id));
    CHECK(tree.bad(model.at(bad[4]).place.id) == "bad");
    const std::size_t child = model.add(bad[4], random);
    CHECK(tree.insert(incoming(model, child)) == outcome::bad);
    CHECK(tree.bad(model.at(child).place.id) == "bad");
}
